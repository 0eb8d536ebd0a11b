#include "tools/models/run_data.hpp"

#include "tools/models/settings.hpp"
#include "tuning/text_file.hpp"

#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace nodeaware::tuning {

namespace {

std::vector<double> times_of_line(const std::string& line, const std::string& where) {
    std::vector<double> times;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
        double seconds = 0;
        const char* last = word.data() + word.size();
        const auto [end, error] = std::from_chars(word.data(), last, seconds);
        if (error != std::errc() || end != last || !(seconds >= 0) || !std::isfinite(seconds)) {
            throw std::runtime_error(
                std::string(where).append(": expected the seconds of each process, found ") + word);
        }
        times.push_back(seconds);
    }
    return times;
}

} // namespace

RunData parse_run_data(std::string_view text) {
    RunData run;
    read_settings(text, "run-data", [&](const Setting& setting) {
        const std::string& key = setting.key;
        if (key == "bytes") {
            run.bytes = setting.at_least(1);
        } else if (key == "rows") {
            run.rows = setting.at_least(1);
        } else if (key == "iterations") {
            run.iterations = setting.at_least(1);
        } else if (key == "vectors") {
            run.vectors = setting.at_least(0);
        } else if (key == "preconditioner") {
            run.preconditioner = setting.at_least(0);
        } else if (key == "product") {
            run.product = setting.at_least(0);
        } else if (key == "sync") {
            run.sync = setting.at_least(0);
        } else if (key == "stalls") {
            run.stalls = setting.at_least(0);
        } else if (key == "hops") {
            run.hops = setting.at_least(0);
        } else if (key == "overlap") {
            run.overlap = setting.at_least(0);
        } else {
            throw std::invalid_argument(
                "run-data: no key " + key +
                "; keys are bytes, rows, iterations, vectors, preconditioner, product, sync, "
                "stalls, hops, overlap");
        }
    });
    return run;
}

std::vector<std::vector<double>> read_computation_times(const std::string& path) {
    std::vector<std::vector<double>> times;
    std::istringstream lines(read_text_file(path));
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        const std::string where = path + ":" + std::to_string(++number);
        std::vector<double> of_line = times_of_line(line, where);
        if (of_line.empty()) { continue; }
        if (!times.empty() && times.front().size() != of_line.size()) {
            throw std::runtime_error(where + ": expected " + std::to_string(times.front().size()) +
                                     " times, one of each process as in the first line, found " +
                                     std::to_string(of_line.size()));
        }
        times.push_back(std::move(of_line));
    }
    if (times.empty()) {
        throw std::runtime_error(path + ": expected a line for each iteration, found none");
    }
    return times;
}

} // namespace nodeaware::tuning
