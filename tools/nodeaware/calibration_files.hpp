#pragma once

#include "tools/fit/measurement_files.hpp"

#include <string>

namespace nodeaware::tool {

/// Where a copy of the file that is to be replaced belongs: PATH.bak, or the first of PATH.bak.2 to
/// PATH.bak.9 that is not there, so that no later run takes the place of what an earlier one kept.
/// The last of them is used again.
std::string path_of_copy(const std::string& path);

/// What has been measured so far, in a file beside those that are to be written: there whatever
/// ends the process, until done(). Says so when it begins, for launchers that are interrupted show
/// no more of what processes say.
class KeptMeasurements {
  public:
    /// `path` is to be written in the end; empty: there is no place for files beside it.
    explicit KeptMeasurements(const std::string& path)
        : path_(path.empty() ? "" : path + ".partial") {}

    /// Whether it can be written is no reason to end what is measured.
    void keep(const tuning::Measurements& measured);
    /// All is written elsewhere.
    void done();

  private:
    std::string path_; ///< empty: nothing is kept
    bool is_there_ = false;
};

} // namespace nodeaware::tool
