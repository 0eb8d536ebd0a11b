#pragma once

#include <string>
#include <string_view>

namespace nodeaware::trace {

/// What the files of ranks are called behind "rank.N": compressed where this build has zstd.
std::string_view file_ending();

/// The text as one frame of zstd, or as it is where this build has none.
std::string packed(std::string text);

/// Makes a folder, and those that it is in. Returns errno, or 0, also if it is there.
int make_folder(const std::string& path);

} // namespace nodeaware::trace
