#pragma once

#include <string>

namespace nodeaware::tuning {

/// The user's own model table, which `nodeaware calibrate` writes and the library reads, from the
/// values of XDG_CONFIG_HOME and HOME (nullptr: not set): nodeaware/model.json in the first, or in
/// .config of the second. Empty if neither is an absolute path.
std::string user_table_path(const char* xdg_config_home, const char* home);

} // namespace nodeaware::tuning
