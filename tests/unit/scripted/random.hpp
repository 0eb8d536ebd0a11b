#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace scripted {

/// The same numbers for the same seed on every machine.
class Random {
  public:
    explicit Random(uint64_t seed) : engine_(seed) {}

    /// 0 to `end` - 1.
    size_t below(size_t end) { return static_cast<size_t>(engine_() % end); }
    int between(int first, int last) {
        return first + static_cast<int>(below(static_cast<size_t>(last - first) + 1));
    }
    bool one_in(size_t number) { return below(number) == 0; }
    template <class Value> Value one_of(const std::vector<Value>& values) {
        return values[below(values.size())];
    }
    template <class Value> void shuffle(std::vector<Value>& values) {
        for (size_t i = values.size(); i > 1; --i) { std::swap(values[i - 1], values[below(i)]); }
    }
    Random fork() { return Random(engine_()); }

  private:
    std::mt19937_64 engine_;
};

} // namespace scripted
