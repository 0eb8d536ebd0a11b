#include "tools/fit/measurement_files.hpp"

#include "tools/fit/measurement_json.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace nodeaware::tuning {

namespace {

enum class Section { none, pairs, copies, device_copies, shared_copies, together, unused };

/// Reads one file line by line.
class Parser {
  public:
    Parser(std::string origin, const BenchmarkLayout& layout)
        : origin_(std::move(origin)), layout_(layout),
          split_total_(std::filesystem::path(origin_).stem() == "node_pong") {}

    void line(const std::string& text) {
        ++number_;
        if (text.find_first_not_of(" \t\r") == std::string::npos) { return; }
        const bool is_heading = heading(text);
        if (end_ > 0) {
            if (is_heading || is_row(text)) {
                complain_at(end_, "is no measurement, but more follow");
            }
            return;
        }
        if (is_heading) { return; }
        if (has_rows_ && !is_row(text)) {
            end_ = number_;
            return;
        }
        read_row(text);
        has_rows_ = true;
    }

    Measurements finish() {
        if (section_ == Section::none) { complain("holds no measurements"); }
        if (end_ > 0) {
            found_.notes.push_back(origin_ + ":" + std::to_string(end_) +
                                   ": ignored from here on: no measurements");
        }
        return std::move(found_);
    }

  private:
    [[noreturn]] void complain_at(int number, const std::string& what) const {
        throw TableError(origin_ + ":" + std::to_string(number) + ": " + what);
    }
    [[noreturn]] void complain(const std::string& what) const { complain_at(number_, what); }

    /// Whether a line is meant as a measurement, and not what a scheduler says when the job ends
    /// ("    CPU time : 59.1 sec.").
    bool is_row(const std::string& text) const {
        const std::string first = text.substr(0, text.find_first_of(" \t\r"));
        switch (section_) {
        case Section::none: return false;
        case Section::pairs:
        case Section::copies:
        case Section::device_copies:
            return text.starts_with("GPU on rank") ||
                   ((first == "CPU" || first == "GPU") && text.size() > 4 &&
                    std::isdigit(static_cast<unsigned char>(text[4])) != 0);
        case Section::together:
        case Section::unused: return first == "Size";
        case Section::shared_copies: break;
        }
        double time = 0;
        const char* const end = first.data() + first.size();
        const auto [rest, error] = std::from_chars(first.data(), end, time);
        return first == "NP" || (error == std::errc() && rest == end);
    }

    void read_row(const std::string& text) {
        switch (section_) {
        case Section::none: complain("does not start with the heading of a known benchmark");
        case Section::pairs: pair(text); break;
        case Section::copies: copy(text); break;
        case Section::shared_copies: shared_copy(text); break;
        case Section::together: together(text); break;
        case Section::device_copies:
        case Section::unused: break;
        }
    }

    bool heading(const std::string& text) {
        const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
        const bool gpu = has("GPU");
        if (has("Profiling") && has("Ping-Pongs")) {
            section_ = Section::pairs;
        } else if (has("Memcpy Device To Device")) {
            section_ = Section::device_copies;
        } else if (has("Memcpy Host To Device") || has("Memcpy Device To Host")) {
            section_ = has("Mult") ? Section::shared_copies : Section::copies;
            direction_ = has("Memcpy Host") ? Direction::host_to_device : Direction::device_to_host;
        } else if (has("Timing") && has("Max-Rate")) {
            section_ = Section::together;
        } else if (has("Timing") && has("Multiple Messages")) {
            section_ = Section::unused;
        } else {
            return false;
        }
        memory_ = gpu ? Memory::device : Memory::host;
        return true;
    }

    std::vector<double> numbers(std::istringstream& words) const {
        std::vector<double> values;
        for (std::string word; words >> word;) {
            double value = 0;
            const auto [end, error] =
                std::from_chars(word.data(), word.data() + word.size(), value);
            if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value)) {
                complain("\"" + word + "\" is not a time in seconds");
            }
            values.push_back(value);
        }
        if (values.empty()) { complain("has no times: is the file cut off?"); }
        return values;
    }

    /// Numbers named in the part before the colon: "CPU 0 and CPU 4" gives 0 and 4.
    std::vector<int> names(const std::string& text) const {
        const size_t colon = text.find(':');
        if (colon == std::string::npos) { complain("a row without its name and a colon"); }
        std::vector<int> values;
        for (size_t i = 0; i < colon;) {
            if (text[i] < '0' || text[i] > '9') {
                ++i;
                continue;
            }
            int value = 0;
            const auto [end, error] = std::from_chars(&text[i], &text[colon], value);
            if (error != std::errc()) { complain("a number out of range"); }
            i = static_cast<size_t>(end - text.data());
            values.push_back(value);
        }
        if (values.size() != 2) { complain("a row whose name does not hold two numbers"); }
        return values;
    }

    std::vector<Point> points(std::istringstream words) const {
        std::vector<Point> result;
        double elements = 1;
        for (const double seconds : numbers(words)) {
            if (seconds > 0) { result.push_back({elements * layout_.element_bytes, seconds}); }
            elements *= 2;
        }
        return result;
    }

    std::istringstream after_colon(const std::string& text) const {
        return std::istringstream(text.substr(text.find(':') + 1));
    }

    void pair(const std::string& text) {
        const std::vector<int> ranks = names(text);
        Locality locality = Locality::network;
        if (ranks[0] / layout_.ranks_per_socket == ranks[1] / layout_.ranks_per_socket) {
            locality = Locality::socket;
        } else if (ranks[0] / layout_.ranks_per_node == ranks[1] / layout_.ranks_per_node) {
            locality = Locality::node;
        }
        found_.pairs.push_back({memory_, locality, points(after_colon(text))});
    }

    void copy(const std::string& text) {
        const std::vector<int> who = names(text);
        const bool same = who[0] / layout_.ranks_per_socket == who[1] / layout_.ranks_per_socket;
        found_.copies.push_back({direction_, same, 1, points(after_colon(text))});
    }

    void shared_copy(const std::string& text) {
        std::istringstream words(text);
        if (text.starts_with("NP")) {
            std::string np;
            int others = 0;
            if (!(words >> np >> others) || others < 0) { complain("NP without a number"); }
            processes_ = others + 1;
            return;
        }
        if (!processes_) { complain("times before the first NP"); }
        found_.copies.push_back({direction_, true, *processes_, points(std::move(words))});
    }

    void together(const std::string& text) {
        std::istringstream words(text);
        std::string size;
        double elements = 0;
        if (!(words >> size >> elements) || size != "Size" || elements <= 0) {
            complain("a row that does not start with its size");
        }
        double processes = 1;
        for (const double seconds : numbers(words)) {
            // node_pong shares one size out over the processes, maxrate gives it to each.
            const double each = elements * layout_.element_bytes / (split_total_ ? processes : 1);
            if (seconds > 0) { found_.simultaneous.push_back({memory_, processes, each, seconds}); }
            ++processes;
        }
    }

    std::string origin_;
    BenchmarkLayout layout_;
    bool split_total_;
    int number_ = 0;
    bool has_rows_ = false;
    int end_ = 0; ///< first line behind the measurements that is none
    Section section_ = Section::none;
    Memory memory_ = Memory::host;
    Direction direction_ = Direction::host_to_device;
    std::optional<int> processes_;
    Measurements found_;
};

} // namespace

void Measurements::add(const Measurements& other) {
    pairs.insert(pairs.end(), other.pairs.begin(), other.pairs.end());
    copies.insert(copies.end(), other.copies.begin(), other.copies.end());
    simultaneous.insert(simultaneous.end(), other.simultaneous.begin(), other.simultaneous.end());
    in_a_row.insert(in_a_row.end(), other.in_a_row.begin(), other.in_a_row.end());
    shared_copies.insert(shared_copies.end(), other.shared_copies.begin(),
                         other.shared_copies.end());
    flag_latencies.insert(flag_latencies.end(), other.flag_latencies.begin(),
                          other.flag_latencies.end());
    notes.insert(notes.end(), other.notes.begin(), other.notes.end());
}

Measurements parse_measurements(std::string_view text, const std::string& origin,
                                const BenchmarkLayout& layout) {
    Parser parser(origin, layout);
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) { parser.line(line); }
    return parser.finish();
}

Measurements read_measurements(const std::string& path, const BenchmarkLayout& layout) {
    std::ifstream file(path);
    std::ostringstream text;
    if (file) { text << file.rdbuf(); }
    if (!file) { throw TableError(path + ": cannot be read"); }
    const std::string content = text.str();
    const size_t first = content.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && content[first] == '{') {
        return measurements_from_json(content, path);
    }
    return parse_measurements(content, path, layout);
}

} // namespace nodeaware::tuning
