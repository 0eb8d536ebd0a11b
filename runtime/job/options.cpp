// Where the values of options come from.

#include "runtime/job/options.hpp"

#include "runtime/job/option_words.hpp"
#include "tuning/text_file.hpp"

#include <algorithm>
#include <sstream>

extern char** environ;

namespace nodeaware {

namespace {

using namespace option_words;

constexpr std::string_view prefix = "NODEAWARE_";

/// Collects settings and complaints while the sources are read one after the other.
class Reader {
  public:
    Reader() {
        for (const OptionRow& row : option_table()) {
            result_.settings.push_back({std::string(row.default_value), "default"});
        }
    }

    void read_file(const std::string& path) {
        std::istringstream file;
        try {
            file.str(tuning::read_text_file(path));
        } catch (const tuning::FileError& error) {
            complain(path + ": " + error.what() + " (named by NODEAWARE_CONFIG)");
            return;
        }
        std::string line;
        for (int number = 1; std::getline(file, line); ++number) {
            const std::string_view text = trimmed(std::string_view(line).substr(0, line.find('#')));
            if (text.empty()) { continue; }
            const std::string where = path + ":" + std::to_string(number);
            const size_t equals = text.find('=');
            if (equals == std::string_view::npos) {
                complain(where + ": expected OPTION = VALUE, found '" + std::string(text) + "'");
                continue;
            }
            std::string_view name = trimmed(text.substr(0, equals));
            if (name.starts_with(prefix)) { name.remove_prefix(prefix.size()); }
            set(name, trimmed(text.substr(equals + 1)), where);
        }
    }

    void set(std::string_view name, std::string_view value, const std::string& source) {
        const auto& table = option_table();
        const auto row = std::find_if(table.begin(), table.end(), [&](const OptionRow& candidate) {
            return candidate.name == name;
        });
        const std::string place = source == "environment" ? std::string() : source + ": ";
        if (row == table.end()) {
            complain(place + unknown(name));
            return;
        }
        try {
            row->set(result_.options, value);
            result_.settings[static_cast<size_t>(row - table.begin())] = {std::string(value),
                                                                          source};
        } catch (const BadValue& error) {
            complain(place + std::string(prefix) + std::string(name) + "='" + std::string(value) +
                     "' is wrong: " + error.what());
        }
    }

    ReadOptions take() { return std::move(result_); }

  private:
    void complain(std::string text) { result_.complaints.push_back(std::move(text)); }

    static std::string unknown(std::string_view name) {
        std::vector<std::string> names;
        for (const OptionRow& row : option_table()) { names.emplace_back(row.name); }
        std::string text = "unknown option " + std::string(prefix) + std::string(name);
        const auto near = near_miss(name, names);
        return near ? text + "; did you mean " + std::string(prefix) + *near + "?"
                    : text + "; options are " + joined(names);
    }

    ReadOptions result_;
};

} // namespace

Options::Options() {
    for (const OptionRow& row : option_table()) {
        if (!row.default_value.empty()) { row.set(*this, row.default_value); }
    }
}

ReadOptions read_options(const std::vector<std::string>& environment) {
    Reader reader;
    std::vector<std::pair<std::string_view, std::string_view>> ours;
    for (const std::string_view entry : environment) {
        const size_t equals = entry.find('=');
        if (!entry.starts_with(prefix) || equals == std::string_view::npos) { continue; }
        ours.emplace_back(entry.substr(prefix.size(), equals - prefix.size()),
                          trimmed(entry.substr(equals + 1)));
    }
    for (const auto& [name, value] : ours) {
        if (name == "CONFIG" && !value.empty()) { reader.read_file(std::string(value)); }
    }
    for (const auto& [name, value] : ours) {
        if (!value.empty()) { reader.set(name, value, "environment"); } // empty means not set
    }
    return reader.take();
}

std::vector<std::string> process_environment() {
    std::vector<std::string> entries;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        entries.emplace_back(*entry);
    }
    return entries;
}

} // namespace nodeaware
