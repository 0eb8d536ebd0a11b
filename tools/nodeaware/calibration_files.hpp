#pragma once

#include "tools/fit/measurement_files.hpp"

#include <string>
#include <utility>

namespace nodeaware::tool {

/// Where a copy of the file that is to be replaced belongs: PATH.bak, or the first of PATH.bak.2 to
/// PATH.bak.9 that is not there, so that no later run takes the place of what an earlier one kept.
/// The last of them is used again.
std::string path_of_copy(const std::string& path);

/// Where measurements are kept until all is measured: PATH.partial, beside theirs or else beside
/// the table; empty: beside neither, for both are written to as they are, or not at all.
std::string path_of_kept(const std::string& measurements, const std::string& table);

/// Why a calibration cannot write both files, empty measurements being none: it would write over
/// one of them, or over what it keeps. May throw what tuning::write_file() throws.
std::string complaint_of_files(const std::string& table, const std::string& measurements);

/// What has been measured so far, in a file beside those that are to be written: there whatever
/// ends the process, until done(). Says so when it begins, for launchers that are interrupted show
/// no more of what processes say. What an earlier one has left there is moved aside.
class KeptMeasurements {
  public:
    /// `path`: of the file; empty: there is no place for one.
    explicit KeptMeasurements(std::string path) : path_(std::move(path)) {}

    /// Whether it can be written is no reason to end what is measured.
    void keep(const tuning::Measurements& measured);
    /// All is written elsewhere.
    void done();

  private:
    std::string path_; ///< empty: nothing is kept
    bool is_there_ = false;
    bool has_failed_ = false;
};

} // namespace nodeaware::tool
