#pragma once

#include "tuning/model_table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace nodeaware::tuning {

/// The version of the format that this library reads, as all before it; tuning/README.md describes
/// them. Written is the first that can say what the table holds: 2 has more of copies.
inline constexpr int table_version = 2;

/// The table in `text`. Throws TableError, "ORIGIN: KEY: what is wrong, what was expected", where
/// the text is no JSON, of another version or unit, misses a key, has one too many, or a value that
/// cannot be. `origin` is the name of the file.
ModelTable parse_table(std::string_view text, const std::string& origin);

/// The table as JSON text; parse_table() gives the same table back, bit for bit.
std::string to_json_text(const ModelTable& table);

/// Reads a file. Throws TableError.
ModelTable read_table(const std::string& path);

/// Names of the tables that come with the library, sorted.
std::vector<std::string> published_table_names();

/// A table by the name of a published one, or by the path of a file. Throws TableError; a misspelt
/// name is answered with the list of names.
ModelTable find_table(const std::string& name_or_path);

/// What is used where no other table can be.
inline constexpr std::string_view default_table_name = "lassen-spectrum";

/// A table and why it is not the one that was asked for (empty: it is).
struct LoadedTable {
    ModelTable table;
    std::string complaint;
};

/// find_table(), but a table that cannot be had is replaced by the default one: the job runs.
/// An empty name asks for the default.
LoadedTable find_table_or_default(const std::string& name_or_path);

} // namespace nodeaware::tuning
