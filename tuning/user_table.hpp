#pragma once

#include "tuning/model_table.hpp"

#include <string>
#include <vector>

namespace nodeaware::tuning {

/// The folder of the user's own model tables, which `nodeaware calibrate` writes and the library
/// reads, from the values of XDG_CONFIG_HOME and HOME (nullptr: not set): nodeaware in the first,
/// or in .config of the second. Empty if neither is an absolute path.
std::string user_table_folder(const char* xdg_config_home, const char* home);

/// What tables of an MPI are called, those of one kind of host first:
/// model-openmpi-amd-epyc-7763-64-core-processor.json, model-openmpi.json. Without the first where
/// the host is unknown, and none where the MPI is.
std::vector<std::string> table_names(const Fingerprint& here);

/// The table for the MPI and the host of `here` in the first of the folders that has one, else one
/// of another kind of host; empty: none has. model.json, as tables were once called, is one if it
/// does not say that it is of another MPI, or cannot be read: that is to be complained about.
std::string find_table_of(const Fingerprint& here, const std::vector<std::string>& folders);

/// Where a table that was measured with `here` goes in `folder`: model-openmpi.json, unless that is
/// of another kind of host, as where machines share a home.
std::string path_of_new_table(const Fingerprint& here, const std::string& folder);

} // namespace nodeaware::tuning
