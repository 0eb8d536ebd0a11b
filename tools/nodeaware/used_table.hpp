#pragma once

#include "tuning/table_file.hpp"

#include <string>

namespace nodeaware::tool {

/// The model table of jobs that are started here, with the MPI of this command.
struct UsedTable {
    std::string wanted; ///< its name or file; empty: nothing says which
    tuning::LoadedTable loaded;
};

/// Chosen as the library does. Throws std::runtime_error where the MPI lacks functions.
UsedTable used_table();

} // namespace nodeaware::tool
