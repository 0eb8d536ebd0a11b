#include "tools/nodeaware/trace/reader.hpp"

#include "tools/nodeaware/trace/line.hpp"

#ifdef NODEAWARE_HAS_ZSTD
#include <zstd.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

namespace nodeaware::tool {

namespace {

constexpr size_t most_bytes = size_t{64} << 20; ///< more than a rank may write

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) { throw TraceError(path + ": " + std::strerror(errno)); }
    std::ostringstream text;
    text << file.rdbuf();
    if (file.bad() || text.bad()) { throw TraceError(path + ": cannot be read"); }
    return text.str();
}

#ifdef NODEAWARE_HAS_ZSTD

std::string unpacked(const std::string& path, const std::string& bytes) {
    const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                     ZSTD_freeDCtx);
    std::string text;
    std::string part(ZSTD_DStreamOutSize(), '\0');
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    size_t rest = 1;
    while (input.pos < input.size) {
        ZSTD_outBuffer output{part.data(), part.size(), 0};
        rest = ZSTD_decompressStream(context.get(), &output, &input);
        if (ZSTD_isError(rest) != 0) {
            throw TraceError(path + ": expected zstd, found: " + ZSTD_getErrorName(rest));
        }
        text.append(part, 0, output.pos);
        if (text.size() > most_bytes) { throw TraceError(path + ": larger than a trace can be"); }
    }
    if (rest != 0) { throw TraceError(path + ": expected a whole frame of zstd, is cut off"); }
    return text;
}

#else

std::string unpacked(const std::string& path, const std::string& /*bytes*/) {
    throw TraceError(path + ": expected text; this program was built without zstd (try zstd -d)");
}

#endif

void read_manifest(Trace& trace) {
    const std::string path = trace.folder + "/manifest.json";
    const Line line(path, read_file(path));
    if (line.text("format") != "nodeaware trace") { line.complain("expected a nodeaware trace"); }
    line.expect_version();
    trace.job = line.text("job");
    trace.library = line.text("library");
    trace.mpi = line.text("mpi");
    trace.begin = line.text("begin");
    trace.model = line.text("model");
    trace.observes = line.truth("observes");
    trace.is_complete = line.truth("complete");
    trace.nodes_are_virtual = line.truth("nodes_are_virtual");
    trace.region = line.text("region");
    trace.ppn = line.setting("PPN");
    trace.file_ending = line.text("file_ending");
    trace.settings = line.texts("settings");
    trace.nodes = line.integers("nodes");
    if (trace.nodes.empty() || trace.nodes.size() != line.count("ranks")) {
        line.complain("nodes: expected one for each rank");
    }
}

TracedCommunicator read_communicator(const Line& line, size_t ranks) {
    TracedCommunicator communicator;
    communicator.rank = line.integer("rank");
    communicator.size = line.integer("size");
    communicator.is_inter = line.truth("inter");
    communicator.receives = line.count("receives");
    communicator.from_any_source = line.count("from_any_source");
    constexpr int64_t most = 1 << 24; // ranks of any job
    for (const auto& run : line.rows("members", 3)) {
        const int64_t last = std::abs(run[1]) > most ? most : run[0] + (run[2] - 1) * run[1];
        const auto is_right = [ranks](int64_t rank) {
            return rank >= -1 && rank < static_cast<int64_t>(ranks);
        };
        if (run[2] < 1 || run[2] > most || !is_right(run[0]) || !is_right(last)) {
            line.complain("members: expected ranks of the job");
        }
        for (int64_t i = 0; i < run[2]; ++i) {
            communicator.members.push_back(static_cast<int>(run[0] + i * run[1]));
        }
    }
    if (communicator.size < 0 ||
        communicator.members.size() != static_cast<size_t>(communicator.size)) {
        line.complain("members: expected as many as size says");
    }
    return communicator;
}

int communicator_of(const Line& line, const RankTrace& rank) {
    const int number = line.integer("communicator");
    if (number < -1 || number >= static_cast<int>(rank.communicators.size())) {
        line.complain("communicator: expected one of the lines before");
    }
    return number;
}

/// Ranks of a communicator, and -1.
void expect_peer(const Line& line, const RankTrace& rank, int communicator, int64_t peer) {
    const int size =
        communicator < 0 ? 0 : rank.communicators[static_cast<size_t>(communicator)].size;
    if (communicator < 0 || peer < -1 || peer >= size) {
        line.complain("expected ranks of the communicator");
    }
}

/// Of which there are values: where one is for each rank, that many.
size_t blocks_of(const RankTrace& rank, const TracedPattern& pattern) {
    const bool is_to_all = pattern.to.size() == 1 && pattern.to.front().first < 0;
    if (!is_to_all || pattern.communicator < 0) { return pattern.to.size(); }
    return rank.communicators[static_cast<size_t>(pattern.communicator)].members.size();
}

std::vector<std::pair<int, uint64_t>> read_blocks(const Line& line, const RankTrace& rank,
                                                  int communicator) {
    std::vector<std::pair<int, uint64_t>> blocks;
    for (const auto& row : line.rows("to", 2)) {
        expect_peer(line, rank, communicator, row[0]);
        blocks.emplace_back(static_cast<int>(row[0]), static_cast<uint64_t>(row[1]));
    }
    return blocks;
}

TracedCollective read_collective(const Line& line, const RankTrace& rank) {
    const int communicator = communicator_of(line, rank);
    return {line.text("function"), communicator, line.count("calls"),
            read_blocks(line, rank, communicator)};
}

TracedPattern read_pattern(const Line& line, const RankTrace& rank) {
    TracedPattern pattern{line.text("function"), communicator_of(line, rank), line.count("made"),
                          line.count("calls"),   line.seconds("seconds"),     {}};
    if (line.has("waited")) { pattern.seconds += line.seconds("waited"); }
    pattern.to = read_blocks(line, rank, pattern.communicator);
    if (line.has("data")) { pattern.data = read_firsts(line, "data", pattern.to.size()); }
    if (line.has("values")) {
        pattern.values = read_firsts(line, "values", blocks_of(rank, pattern));
    }
    return pattern;
}

void read_sequence(const Line& line, RankTrace& rank) {
    auto& sequence = rank.sequences[communicator_of(line, rank)];
    rank.is_cut = rank.is_cut || line.truth("is_cut");
    for (const auto& row : line.rows("patterns", 2)) {
        if (row[0] < 0 || row[0] >= static_cast<int64_t>(rank.patterns.size()) || row[1] < 1) {
            line.complain("patterns: expected those of the lines before");
        }
        sequence.emplace_back(static_cast<int>(row[0]), static_cast<uint64_t>(row[1]));
    }
}

TracedSends read_sends(const Line& line, const RankTrace& rank) {
    TracedSends sends{communicator_of(line, rank), line.integer("peer"), {}};
    expect_peer(line, rank, sends.communicator, sends.peer);
    if (sends.peer < 0) { line.complain("peer: expected a rank of the communicator"); }
    for (const auto& row : line.rows("sizes", 3)) {
        if (row[0] < 0 || row[0] > 64) { line.complain("sizes: expected classes from 0 to 64"); }
        sends.sizes.push_back({static_cast<int>(row[0]), static_cast<uint64_t>(row[1]),
                               static_cast<uint64_t>(row[2])});
    }
    return sends;
}

TracedSite read_site(const Line& line, const RankTrace& rank) {
    return {line.text("function"),  line.text_or_nothing("site"), communicator_of(line, rank),
            line.count("calls"),    line.count("messages"),       line.count("bytes"),
            line.seconds("seconds")};
}

void read_other(const Line& line, RankTrace& rank) {
    const bool is_any = line.count("communicators") + line.count("patterns") +
                            line.count("site_calls") + line.rows("sizes", 3).size() >
                        0;
    rank.is_cut = rank.is_cut || is_any;
    rank.events_left_out = line.count("events");
    if (line.has("collectives")) { rank.collectives_left_out = line.count("collectives"); }
}

void read_end(const Line& line, RankTrace& rank, size_t lines) {
    if (line.count("lines") != lines) {
        line.complain("expected " + std::to_string(line.count("lines")) + " lines, found " +
                      std::to_string(lines));
    }
    rank.is_complete = line.truth("complete");
    rank.wall = line.seconds("wall");
    rank.seconds_in_calls = line.seconds("seconds");
}

void read_first(const Line& line, const Trace& trace, RankTrace& rank) {
    if (line.text("type") != "trace") { line.complain("type: expected trace"); }
    line.expect_version();
    if (line.text("job") != trace.job) { line.complain("expected a file of the manifest's job"); }
    if (line.integer("rank") != rank.rank) {
        line.complain("expected rank " + std::to_string(rank.rank));
    }
    read_clock(line, rank);
}

/// Lines of kinds that are not known are passed over: they tell more than is asked for here.
void read_line(const Line& line, const std::string& type, const Trace& trace, RankTrace& rank) {
    if (type == "communicator") {
        rank.communicators.push_back(read_communicator(line, trace.nodes.size()));
    } else if (type == "pattern") {
        rank.patterns.push_back(read_pattern(line, rank));
    } else if (type == "collective") {
        rank.collectives.push_back(read_collective(line, rank));
    } else if (type == "sequence") {
        read_sequence(line, rank);
    } else if (type == "sends") {
        rank.sends.push_back(read_sends(line, rank));
    } else if (type == "site") {
        rank.sites.push_back(read_site(line, rank));
    } else if (type == "other") {
        read_other(line, rank);
    } else {
        read_detail(line, type, rank);
    }
}

RankTrace read_rank(const Trace& trace, int number, bool reads_events) {
    const std::string path = trace.folder + "/rank." + std::to_string(number) + trace.file_ending;
    std::string text = read_file(path);
    if (trace.file_ending.ends_with(".zst")) { text = unpacked(path, text); }
    RankTrace rank;
    rank.rank = number;
    rank.has_timeline = reads_events;
    std::istringstream lines(text);
    std::string type;
    size_t count = 0;
    for (std::string one; std::getline(lines, one);) {
        const Line line(path + ":" + std::to_string(++count), one);
        if (count == 1) { read_first(line, trace, rank); }
        if (type == "end") { line.complain("expected nothing after the end"); }
        type = line.text("type");
        if (type == "end") { read_end(line, rank, count); }
        read_line(line, type, trace, rank);
    }
    if (type != "end") {
        throw TraceError(path + ":" + std::to_string(count + 1) +
                         ": expected a line of type end, is cut off");
    }
    return rank;
}

/// Whole nodes, evenly spread over the job.
std::set<int> nodes_with_events(const std::vector<int>& nodes, Timeline timeline) {
    constexpr size_t most_ranks = 512;
    std::set<int> all(nodes.begin(), nodes.end());
    if (timeline == Timeline::read) { return all; }
    if (timeline == Timeline::skip) { return {}; }
    const size_t step = (nodes.size() + most_ranks - 1) / most_ranks;
    std::set<int> chosen;
    size_t number = 0;
    for (const int node : all) {
        if (number++ % step == 0) { chosen.insert(node); }
    }
    return chosen;
}

} // namespace

Trace read_trace(const std::string& folder, Timeline timeline) {
    Trace trace;
    trace.folder = folder;
    read_manifest(trace);
    const std::set<int> with_events = nodes_with_events(trace.nodes, timeline);
    for (size_t rank = 0; rank < trace.nodes.size(); ++rank) {
        const bool reads_events = with_events.contains(trace.nodes[rank]);
        try {
            trace.ranks.push_back(read_rank(trace, static_cast<int>(rank), reads_events));
        } catch (const std::exception& error) { trace.complaints.emplace_back(error.what()); }
    }
    return trace;
}

} // namespace nodeaware::tool
