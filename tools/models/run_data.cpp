#include "tools/models/run_data.hpp"

#include "tools/models/settings.hpp"
#include "tuning/text_file.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

namespace nodeaware::tuning {

namespace {

std::vector<double> times_of_line(const std::string& line, const std::string& where) {
    std::vector<double> times;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
        double seconds = -1;
        try {
            seconds = number_in(word, where);
        } catch (const std::invalid_argument&) {} // said below
        if (seconds < 0) {
            throw std::runtime_error(
                std::string(where).append(": expected the seconds of each process, found ") + word);
        }
        times.push_back(seconds);
    }
    return times;
}

struct Key {
    std::string_view name;
    int least;
    void (*set)(RunData& run, double value);
};

constexpr std::array keys = {
    Key{"bytes", 1, [](RunData& run, double value) { run.bytes = value; }},
    Key{"rows", 1, [](RunData& run, double value) { run.rows = value; }},
    Key{"points", 7, [](RunData& run, double value) { run.points = value; }},
    Key{"iterations", 1, [](RunData& run, double value) { run.iterations = value; }},
    Key{"vectors", 0, [](RunData& run, double value) { run.vectors = value; }},
    Key{"preconditioner", 0, [](RunData& run, double value) { run.preconditioner = value; }},
    Key{"product", 0, [](RunData& run, double value) { run.product = value; }},
    Key{"sync", 0, [](RunData& run, double value) { run.sync = value; }},
    Key{"stalls", 0, [](RunData& run, double value) { run.stalls = value; }},
    Key{"hops", 0, [](RunData& run, double value) { run.hops = value; }},
    Key{"overlap", 0, [](RunData& run, double value) { run.overlap = value; }}};

[[noreturn]] void refuse(const std::string& key) {
    std::string names;
    for (const Key& known : keys) { names.append(names.empty() ? "" : ", ").append(known.name); }
    throw std::invalid_argument("run-data: no key " + key + "; keys are " + names);
}

} // namespace

RunData parse_run_data(std::string_view text) {
    RunData run;
    read_settings(text, "run-data", [&](const Setting& setting) {
        const auto* const key = std::find_if(
            keys.begin(), keys.end(), [&](const Key& known) { return known.name == setting.key; });
        if (key == keys.end()) { refuse(setting.key); }
        key->set(run, setting.at_least(key->least));
    });
    if (run.points != 7 && run.points != 27) {
        throw std::invalid_argument("run-data, points: must be 7 or 27");
    }
    return run;
}

std::vector<std::vector<double>> read_computation_times(const std::string& path) {
    std::vector<std::vector<double>> times;
    std::istringstream lines;
    try {
        lines.str(read_text_file(path));
    } catch (const FileError& error) { throw FileError(path + ": " + error.what()); }
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
