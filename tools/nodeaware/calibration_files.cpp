#include "tools/nodeaware/calibration_files.hpp"

#include "tools/fit/measurement_json.hpp"
#include "tuning/text_file.hpp"

#include <cstdio>
#include <stdexcept>
#include <unistd.h>

namespace nodeaware::tool {

std::string path_of_copy(const std::string& path) {
    constexpr int most = 9;
    std::string copy = path + ".bak";
    for (int i = 2; i <= most && access(copy.c_str(), F_OK) == 0; ++i) {
        copy = path + ".bak." + std::to_string(i);
    }
    return copy;
}

void KeptMeasurements::keep(const tuning::Measurements& measured) {
    if (path_.empty()) { return; }
    try {
        tuning::write_text_file(path_, to_json_text(measured));
        if (!is_there_) {
            std::fprintf(stderr,
                         "nodeaware: until the end, what is measured is kept in %s, for nodeaware "
                         "fit\n",
                         path_.c_str());
        }
        is_there_ = true;
    } catch (const std::runtime_error& error) {
        std::fprintf(stderr, "nodeaware: what is measured is not kept until the end: %s\n",
                     error.what());
        path_.clear();
    }
}

void KeptMeasurements::done() {
    if (is_there_ && unlink(path_.c_str()) != 0) { std::perror(path_.c_str()); }
    is_there_ = false;
}

} // namespace nodeaware::tool
