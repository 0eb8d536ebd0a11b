#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nodeaware::tool::doctor {

/// What the probe tells, as it gets through a launcher: some put tags in front of each line and of
/// what they take at once, others write XML. `name`, of digits and points, is that of the teller,
/// different for each; the lines are short, numbered, each there twice, and end with a newline.
std::vector<std::string> packed(const std::string& mark, const std::string& name,
                                const std::string& text);

struct Unpacked {
    std::vector<std::string> texts; ///< in the order of names
    size_t damaged = 0;             ///< texts of which a part is missing
};

/// The texts in lines with this mark, among whatever else was said.
Unpacked unpacked(const std::string& mark, const std::string& lines);

} // namespace nodeaware::tool::doctor
