#pragma once

#include <functional>
#include <string>
#include <string_view>

/// Options that hold several numbers: "messages=256,nodes=16".
namespace nodeaware::tuning {

/// The number that all of `text` is, and finite. Throws std::invalid_argument, "<what>: <text> is
/// not a number".
double number_in(std::string_view text, const std::string& what);

/// One of the settings, which are read from the left.
struct Setting {
    std::string what; ///< "scenario, nodes": how errors begin
    std::string key;
    double value = 0;

    /// The value; throws std::invalid_argument if it is below `least`.
    double at_least(int least) const;
};

/// Calls `take` with each "key=number" of `text`, which are separated by commas. `what`: the
/// option. Throws std::invalid_argument, and what `take` throws.
void read_settings(std::string_view text, const std::string& what,
                   const std::function<void(const Setting&)>& take);

} // namespace nodeaware::tuning
