#pragma once

#include <span>
#include <string_view>

namespace nodeaware::tuning {

/// A file of tuning/tables, as it was when the library was built.
struct PublishedTable {
    std::string_view name; ///< name of the file without .json
    std::string_view text;
};

/// The files of tuning/tables: they need no installed file at run time.
std::span<const PublishedTable> published_tables();

} // namespace nodeaware::tuning
