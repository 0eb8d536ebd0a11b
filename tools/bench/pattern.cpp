#include "pattern.hpp"

#include "matrix_market.hpp"
#include "mpi_forms.hpp"
#include "pattern_kinds.hpp"
#include "program.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <sstream>

namespace bench {
namespace {

constexpr const char* spmv_prefix = "spmv:";

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (;;) {
        const std::size_t end = text.find(separator, begin);
        parts.push_back(text.substr(begin, end - begin));
        if (end == std::string::npos) return parts;
        begin = end + 1;
    }
}

// "64", "4K", "2M": not negative, and small enough for an int count.
std::int64_t parse_number(const std::string& text) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, value);
    std::int64_t unit = 1;
    if (rest != end && (*rest == 'K' || *rest == 'k')) unit = std::int64_t{1} << 10;
    if (rest != end && (*rest == 'M' || *rest == 'm')) unit = std::int64_t{1} << 20;
    if (unit > 1) ++rest;
    if (error == std::errc::invalid_argument || rest != end || value < 0)
        throw InputError("'" + text + "' is not a number");
    if (error != std::errc{} || value > std::numeric_limits<int>::max() / unit)
        throw InputError(text + " is too large: MPI counts are int");
    return value * unit;
}

// "4/8,1K" -> {"4,1K", "8,1K"}
std::vector<std::string> expand_lists(const std::string& arguments) {
    std::vector<std::string> expanded{""};
    for (const std::string& field : split(arguments, ',')) {
        std::vector<std::string> longer;
        for (const std::string& begin : expanded) {
            for (const std::string& choice : split(field, '/')) {
                longer.push_back(begin);
                if (!begin.empty()) longer.back() += ",";
                longer.back() += choice;
            }
        }
        expanded = std::move(longer);
    }
    return expanded;
}

const PatternKind& find_kind(const std::string& spec) {
    const std::string name = spec.substr(0, spec.find(':'));
    for (const PatternKind& kind : pattern_kinds())
        if (name == kind.name) return kind;
    throw InputError("unknown pattern '" + spec + "'; the patterns are\n" + pattern_help());
}

Pattern make_pattern(const PatternKind& kind, const std::string& arguments, int ranks,
                     const PatternOptions& options) {
    Pattern pattern;
    pattern.spec = pattern.label = std::string(kind.name) + ":" + arguments;
    pattern.uniform = std::string(kind.name) == "uniform";
    try {
        std::vector<std::int64_t> numbers;
        for (const std::string& field : split(arguments, ','))
            numbers.push_back(parse_number(field));
        if (numbers.size() < kind.min_numbers || numbers.size() > kind.max_numbers)
            throw InputError(std::string("expected ") + kind.name + ":" + kind.arguments);
        pattern.messages = merged(kind.make(numbers, ranks, options));
    } catch (const InputError& error) {
        throw InputError("pattern '" + pattern.spec + "': " + error.what());
    }
    return pattern;
}

} // namespace

std::vector<Message> merged(std::vector<Message> messages) {
    const auto pair_of = [](const Message& m) { return std::pair(m.source, m.destination); };
    std::stable_sort(messages.begin(), messages.end(),
                     [&](const Message& a, const Message& b) { return pair_of(a) < pair_of(b); });
    std::vector<Message> result;
    for (const Message& message : messages) {
        if (!result.empty() && pair_of(result.back()) == pair_of(message)) {
            result.back().bytes += message.bytes;
        } else {
            result.push_back(message);
        }
    }
    return result;
}

std::vector<Pattern> make_patterns(const std::string& spec, int ranks,
                                   const PatternOptions& options) {
    if (spec.starts_with(spmv_prefix)) {
        const std::string path = spec.substr(std::string(spmv_prefix).size());
        const std::string label = spmv_prefix + std::filesystem::path(path).stem().string();
        return {{spec, label, false, merged(spmv_messages(read_matrix_market(path), ranks))}};
    }
    const PatternKind& kind = find_kind(spec);
    const std::size_t colon = spec.find(':');
    if (colon == std::string::npos)
        throw InputError("pattern '" + spec + "': expected " + kind.name + ":" + kind.arguments);
    std::vector<Pattern> patterns;
    for (const std::string& arguments : expand_lists(spec.substr(colon + 1)))
        patterns.push_back(make_pattern(kind, arguments, ranks, options));
    return patterns;
}

std::vector<Pattern> share_patterns(const std::vector<std::string>& specs,
                                    const PatternOptions& options, MPI_Comm comm) {
    int rank = 0;
    int ranks = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
    std::vector<Pattern> patterns;
    std::string error;
    try {
        for (const std::string& spec : specs) {
            if (rank != 0) break;
            for (Pattern& pattern : make_patterns(spec, ranks, options))
                patterns.push_back(std::move(pattern));
        }
    } catch (const InputError& problem) { error = problem.what(); }
    throw_everywhere(error, comm);
    auto number = static_cast<int>(patterns.size());
    check(MPI_Bcast(&number, 1, MPI_INT, 0, comm), "MPI_Bcast");
    patterns.resize(static_cast<std::size_t>(number));
    for (Pattern& pattern : patterns) share_pattern(pattern, comm);
    return patterns;
}

void share_pattern(Pattern& pattern, MPI_Comm comm) {
    broadcast(pattern.spec, comm);
    broadcast(pattern.label, comm);
    std::array<int, 2> numbers{pattern.uniform ? 1 : 0, static_cast<int>(pattern.messages.size())};
    check(MPI_Bcast(numbers.data(), 2, MPI_INT, 0, comm), "MPI_Bcast");
    pattern.uniform = numbers[0] != 0;
    pattern.messages.resize(static_cast<std::size_t>(numbers[1]));
    MPI_Datatype message = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(sizeof(Message), MPI_BYTE, &message), "MPI_Type_contiguous");
    check(MPI_Type_commit(&message), "MPI_Type_commit");
    check(MPI_Bcast(pattern.messages.data(), numbers[1], message, 0, comm), "MPI_Bcast");
    check(MPI_Type_free(&message), "MPI_Type_free");
}

std::string pattern_help() {
    std::ostringstream text;
    text << "  spmv:FILE                       sparse matrix (MatrixMarket) times vector, "
            "contiguous rows per rank, 8 bytes per entry\n";
    for (const PatternKind& kind : pattern_kinds()) {
        std::string usage = std::string("  ") + kind.name + ":" + kind.arguments;
        usage.resize(std::max<std::size_t>(usage.size() + 1, 34), ' ');
        text << usage << kind.meaning << "\n";
    }
    text << "  Numbers may end in K or M (1024) and may be lists: uniform:8/4K is two patterns.";
    return text.str();
}

} // namespace bench
