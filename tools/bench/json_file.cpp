#include "json_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <unistd.h>

namespace bench {

std::string write_json(const std::string& path, const nlohmann::ordered_json& json) {
    const std::string temporary = path + ".tmp." + std::to_string(getpid());
    errno = 0;
    std::ofstream file(temporary);
    file << json.dump(2) << '\n';
    file.close();
    if (file && std::rename(temporary.c_str(), path.c_str()) == 0) return {};
    const std::string reason = errno != 0 ? std::strerror(errno) : "write error";
    std::remove(temporary.c_str());
    return "cannot write " + path + ": " + reason;
}

nlohmann::ordered_json to_json(const Summary& summary) {
    return {{"median", summary.median}, {"min", summary.min}, {"max", summary.max}};
}

} // namespace bench
