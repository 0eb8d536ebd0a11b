#pragma once

#include <string>

/// The files that the code of this process comes from.
namespace nodeaware::trace {

struct CodePlace {
    std::string site;     ///< FILE+0xOFFSET, from where FILE is loaded; empty: not known
    std::string file;     ///< FILE
    std::string build_id; ///< in hexadecimal digits, as the linker has put it there; empty: none
};

/// Of an address; nullptr is known nowhere.
CodePlace place_of(const void* address);

} // namespace nodeaware::trace
