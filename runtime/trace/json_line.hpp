#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace nodeaware::trace {

/// A JSON object in one line, member by member.
class JsonLine {
  public:
    JsonLine& add(std::string_view name, std::string_view text);
    JsonLine& add(std::string_view name, const char* text) {
        return add(name, std::string_view(text));
    }
    template <std::integral Value> JsonLine& add(std::string_view name, Value value) {
        if constexpr (std::is_same_v<Value, bool>) {
            return add_value(name, value ? "true" : "false");
        } else {
            return add_value(name, text_of(value));
        }
    }
    JsonLine& add_seconds(std::string_view name, uint64_t nanoseconds) {
        return add_value(name, seconds_of(nanoseconds));
    }
    /// A value that is JSON already.
    JsonLine& add_value(std::string_view name, std::string_view json);
    std::string take() { return text_ + "}\n"; }

    static std::string text_of(std::integral auto value) {
        char digits[24];
        return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
    }
    /// With nine digits after the point, but for zeroes at the end.
    static std::string seconds_of(uint64_t nanoseconds);
    static std::string quoted(std::string_view text);

  private:
    std::string text_ = "{";
};

/// "[a,b,c]", element by element.
class JsonList {
  public:
    void add(std::string_view json) { (text_ += text_.size() > 1 ? "," : "") += json; }
    void add(std::integral auto first, std::integral auto... others) {
        std::string row = "[" + JsonLine::text_of(first);
        ((row += "," + JsonLine::text_of(others)), ...);
        add(row + "]");
    }
    std::string take() { return text_ + "]"; }

  private:
    std::string text_ = "[";
};

} // namespace nodeaware::trace
