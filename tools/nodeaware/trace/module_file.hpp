#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// What has to be known of an ELF file to look up places of a trace in it.
struct ModuleFile {
    uint64_t base = 0;    ///< the address that offsets of the loaded file are from
    std::string build_id; ///< in hexadecimal digits; empty: none
    int64_t changed = 0;  ///< seconds since 1970
};

/// Reads its headers only. Nothing if it is not there, no regular file, or not an ELF file of this
/// machine's word size.
std::optional<ModuleFile> read_module_file(const std::string& path);

/// For each address the functions that it lies in, by the symbol tables of the file: as they are
/// there, none without a size, and several where they share their code.
std::vector<std::vector<std::string>> functions_at(const std::string& path,
                                                   const std::vector<uint64_t>& addresses);

} // namespace nodeaware::tool
