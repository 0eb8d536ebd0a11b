#include "tools/nodeaware/calibration_files.hpp"

#include "tools/fit/measurement_json.hpp"
#include "tuning/text_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/// What a calibration has left that was interrupted. Throws std::runtime_error.
void move_aside(const std::string& path) {
    if (!is_there(path)) { return; }
    const std::string copy = path_of_copy(path);
    if (std::rename(path.c_str(), copy.c_str()) != 0) {
        throw std::runtime_error(path + ": cannot be moved aside: " + std::strerror(errno));
    }
    std::fprintf(stderr, "nodeaware: what an earlier calibration kept is now %s\n", copy.c_str());
}

} // namespace

std::string path_of_copy(const std::string& path) {
    constexpr int most = 9;
    std::string copy = path + ".bak";
    for (int i = 2; i <= most && is_there(copy); ++i) { copy = path + ".bak." + std::to_string(i); }
    return copy;
}

std::string path_of_kept(const std::string& measurements, const std::string& table) {
    for (const std::string& path : {measurements, table}) {
        if (!path.empty() && tuning::is_replaced(path)) { return path + ".partial"; }
    }
    return "";
}

std::string complaint_of_files(const std::string& table, const std::string& measurements) {
    const std::string kept = path_of_kept(measurements, table);
    for (const std::string& path : {table, measurements}) {
        if (!path.empty() && !kept.empty() && tuning::is_same_file(path, kept)) {
            return path + ": expected another file, for in this one measurements are kept until "
                          "the end";
        }
    }
    if (measurements.empty()) { return ""; }
    if (tuning::is_same_file(table, measurements)) {
        return measurements + ": expected another file than that of --output";
    }
    const bool has_copy = tuning::is_replaced(table) && is_there(table);
    if (has_copy && tuning::is_same_file(path_of_copy(table), measurements)) {
        return measurements + ": expected another file, for this one becomes the copy of " + table;
    }
    return "";
}

void KeptMeasurements::keep(const tuning::Measurements& measured) {
    if (path_.empty() || has_failed_) { return; }
    try {
        if (!is_there_) { move_aside(path_); }
        tuning::write_text_file(path_, to_json_text(measured));
        if (!is_there_) {
            std::fprintf(stderr,
                         "nodeaware: until the end, what is measured is kept in %s, for nodeaware "
                         "fit\n",
                         path_.c_str());
        }
        is_there_ = true;
    } catch (const std::runtime_error& error) {
        has_failed_ = true;
        const char* const when = is_there_ ? "from here on, " : "";
        std::fprintf(stderr, "nodeaware: %swhat is measured is not kept until the end: %s\n", when,
                     error.what());
        if (is_there_) {
            std::fprintf(stderr, "nodeaware: what was measured before is in %s\n", path_.c_str());
        }
    }
}

void KeptMeasurements::done() {
    if (is_there_ && unlink(path_.c_str()) != 0) { std::perror(path_.c_str()); }
    is_there_ = false;
}

} // namespace nodeaware::tool
