#pragma once

#include <cstddef>
#include <string>

namespace nodeaware::tool {

/// What goes on, on stderr.
class ProgressLine {
  public:
    enum class Kind {
        none,
        rewritten, ///< one line, for who looks at it
        lines      ///< one now and then, for a log
    };
    /// Seconds between two lines at least, and before the first.
    static constexpr double seconds_between_lines = 10;

    explicit ProgressLine(Kind kind);
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    void show(const std::string& text);
    /// The same at a time that is not now.
    void show_at(double seconds, const std::string& text);
    void clear();

  private:
    Kind kind_;
    double last_;
    size_t width_ = 0;
};

} // namespace nodeaware::tool
