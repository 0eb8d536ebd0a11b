// What options there are, and what values they take.

#include "runtime/job/option_words.hpp"
#include "runtime/job/options.hpp"

#include <charconv>

namespace nodeaware {

namespace {

using namespace option_words;

/// "expected one of a, b, c" and, where a word was probably misspelt, what was meant.
std::string expected_one_of(std::string_view word, const std::vector<std::string>& candidates) {
    const auto near = near_miss(word, candidates); // first: the list may be long, and cut
    return (near ? "did you mean " + *near + "? Expected one of " : "expected one of ") +
           joined(candidates);
}

template <class Value>
Value pick(std::string_view word, const std::vector<std::pair<std::string, Value>>& values) {
    std::vector<std::string> names;
    for (const auto& [name, value] : values) {
        if (name == word) { return value; }
        names.push_back(name);
    }
    throw BadValue(expected_one_of(word, names));
}

bool parse_switch(std::string_view text) {
    return pick<bool>(
        text,
        {{"0", false}, {"1", true}, {"no", false}, {"yes", true}, {"off", false}, {"on", true}});
}

uint64_t parse_positive_bytes(std::string_view text) {
    const uint64_t bytes = parse_bytes(text);
    if (bytes == 0) { throw BadValue("expected a number of bytes above 0"); }
    return bytes;
}

int parse_radix(std::string_view text) {
    if (text == "auto") { return 0; }
    int radix = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), radix);
    if (error != std::errc() || end != text.data() + text.size() || radix < 2) {
        throw BadValue("expected a number from 2, or auto");
    }
    return radix;
}

double parse_seconds(std::string_view text) {
    if (text == "auto") { return -1; }
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0)) {
        throw BadValue("expected a number of seconds, or auto");
    }
    return seconds;
}

/// A word that is misspelt is not taken for a file.
void parse_report(std::string_view text, Options& options) {
    options.report_path.clear();
    options.report_times = text != "counts";
    if (text.find_first_of("/.") != std::string_view::npos) {
        options.report = true;
        options.report_path = text;
        return;
    }
    options.report = pick<bool>(text, {{"0", false},
                                       {"1", true},
                                       {"counts", true},
                                       {"no", false},
                                       {"yes", true},
                                       {"off", false},
                                       {"on", true},
                                       {"a path with / or .", true}});
}

void parse_ppn(std::string_view text, Options& options) {
    constexpr std::string_view cyclic = "cyclic:";
    options.ppn.clear();
    options.ppn_is_cyclic = text.starts_with(cyclic);
    if (options.ppn_is_cyclic) { text.remove_prefix(cyclic.size()); }
    if (text.empty() && !options.ppn_is_cyclic) { return; }
    for (const std::string_view part : split_at(text, ',')) {
        int size = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
        if (error != std::errc() || end != part.data() + part.size() || size < 1) {
            options.ppn.clear();
            throw BadValue("expected ranks per virtual node, one number above 0 or several with "
                           "commas between, perhaps after cyclic:");
        }
        options.ppn.push_back(size);
    }
}

Choice parse_choice(std::string_view word) {
    if (word == "auto") { return {}; }
    if (word == "native") { return {Choice::Kind::native, nullptr}; }
    if (const Strategy* strategy = find_strategy(word)) { return {Choice::Kind::fixed, strategy}; }
    std::vector<std::string> names = {"auto", "native"};
    for (const Strategy& strategy : strategies()) { names.emplace_back(strategy.name); }
    throw BadValue(expected_one_of(word, names));
}

/// Of sums by nodes the configuration has to say that their bits may change.
Choice parse_allreduce(std::string_view word) {
    Choice choice;
    if (word != "node") { choice = parse_choice(word); }
    choice.reorders = word == "node" || choice.kind == Choice::Kind::fixed;
    return choice;
}

void parse_strategy(Options& options, std::string_view text) {
    auto choices = options.strategy;
    for (const std::string_view part : split_at(text, ',')) {
        const size_t colon = part.find(':');
        if (colon == std::string_view::npos) {
            choices.fill(parse_choice(part));
            continue;
        }
        const std::string_view name = trimmed(part.substr(0, colon));
        const std::string_view word = trimmed(part.substr(colon + 1));
        const bool is_allreduce = name == name_of(Operation::allreduce);
        const Choice choice = is_allreduce ? parse_allreduce(word) : parse_choice(word);
        bool is_known = false;
        for (size_t i = 0; i < operation_count; ++i) {
            const bool is_meant = name == operation_names[i] ||
                                  (name == "nonblocking" && is_nonblocking(Operation(i)));
            if (is_meant) { choices[i] = choice; }
            is_known = is_known || is_meant;
        }
        if (!is_known) {
            std::vector<std::string> names(operation_names.begin(), operation_names.end());
            names.emplace_back("nonblocking");
            throw BadValue("unknown operation " + std::string(name) + ": " +
                           expected_one_of(name, names));
        }
    }
    options.strategy = choices;
}

std::vector<OptionRow> make_table() {
    return {
        {"DISABLE", "0, 1", "0", "1: leave every call to MPI.",
         [](Options& o, std::string_view v) { o.disable = parse_switch(v); }},
        {"STRATEGY",
         "auto, native, standard, two_step, three_step, gathered, split, hybrid, radix, model; or "
         "OPERATION:STRATEGY,...",
         "auto",
         "How operations travel: one strategy for all (also messages, `p2p`, which then are handed "
         "over without asking the model), or each by its own; `nodeaware info` lists both, and "
         "`nonblocking` means all that begin with i. For example `three_step` or "
         "`alltoallv:split,nonblocking:native`. `allreduce:node`, or a strategy in place of "
         "`node`: sums of floating-point numbers go by nodes, too, whose last bits may then differ "
         "from the MPI's.",
         parse_strategy},
        {"MESSAGE_CAP", "bytes, with suffix K, M or G if wanted", "60K",
         "split and hybrid: largest message formed between two nodes; raised where it would give "
         "more messages than the nodes have ranks.",
         [](Options& o, std::string_view v) {
             o.parameters.message_cap = parse_positive_bytes(v);
         }},
        {"DIRECT", "bytes", "64K", "hybrid: messages above this go straight to their destination.",
         [](Options& o, std::string_view v) { o.parameters.direct_bytes = parse_bytes(v); }},
        {"LOCAL_DIRECT", "bytes", "64K",
         "Messages within a node that are larger go through MPI, not the shared arena.",
         [](Options& o, std::string_view v) { o.parameters.local_direct_bytes = parse_bytes(v); }},
        {"ARENA", "bytes", "64M",
         "Shared memory of one node for one operation on one communicator, used only as far as "
         "needed; larger exchanges run in rounds.",
         [](Options& o, std::string_view v) {
             o.parameters.arena_bytes = parse_positive_bytes(v);
         }},
        {"RADIX", "auto, or a number from 2", "auto",
         "radix: base of the digits by which nodes pass on what they have for each other; auto: by "
         "the model, for each operation and size.",
         [](Options& o, std::string_view v) { o.radix = parse_radix(v); }},
        {"BATCH_TIMEOUT", "auto, or seconds", "auto",
         "How long a message of a learned batch, or of a nonblocking operation, waits for those of "
         "other ranks that are to travel with it. auto: what the batch takes by MPI, at least some "
         "twenty messages.",
         [](Options& o, std::string_view v) { o.batch_timeout = parse_seconds(v); }},
        {"DEVICE_AWARE", "auto, yes, no", "auto",
         "Whether MPI takes memory of GPUs; if not, messages of it go by way of the host. auto: as "
         "the MPI says of itself.",
         [](Options& o, std::string_view v) {
             o.device_aware = pick<DeviceAware>(v, {{"auto", DeviceAware::automatic},
                                                    {"yes", DeviceAware::yes},
                                                    {"no", DeviceAware::no}});
         }},
        {"DEVICE_COPY", "auto, md, dd", "auto",
         "How large messages of GPUs get into what a node sends together. md: each rank copies its "
         "own to the host. dd: up to four ranks that use the GPU copy parts of them, from memory "
         "on it that they share. auto: dd where the model says that it is faster.",
         [](Options& o, std::string_view v) {
             o.parameters.device_copy = pick<DeviceCopy>(
                 v,
                 {{"auto", DeviceCopy::automatic}, {"md", DeviceCopy::md}, {"dd", DeviceCopy::dd}});
         }},
        {"DEVICE_SLAB", "bytes", "64M",
         "dd: memory that a rank takes of a GPU for this, when it first needs it; what has no room "
         "there goes by md.",
         [](Options& o, std::string_view v) { o.parameters.device_slab_bytes = parse_bytes(v); }},
        {"DEVICE_KERNELS", "auto, yes, no", "auto",
         "Whether memory of GPUs in many short pieces is copied by kernels. auto: where they pass "
         "a trial, and where processes take turns on a GPU only of very many pieces; yes: as where "
         "each process has a GPU of its own; no: for programs whose own kernels wait for the end "
         "of an exchange.",
         [](Options& o, std::string_view v) {
             o.device_kernels = pick<DeviceKernels>(v, {{"auto", DeviceKernels::automatic},
                                                        {"yes", DeviceKernels::yes},
                                                        {"no", DeviceKernels::no}});
         }},
        {"MODEL", "a name, or a path", "",
         "Table of what messages cost on this machine, which `auto` and `model` choose by: one "
         "that `nodeaware calibrate` has written, or the name of a published one. Without it, the "
         "one that was calibrated for this user and MPI, else an administrator's, else a common "
         "cluster's.",
         [](Options& o, std::string_view v) { o.model = v; }},
        {"REGION", "node, socket, numa", "node", "Ranks that are treated as one node.",
         [](Options& o, std::string_view v) {
             o.region = pick<Region>(
                 v, {{"node", Region::node}, {"socket", Region::socket}, {"numa", Region::numa}});
         }},
        {"REORDER", "off, cart", "off",
         "cart: MPI_Cart_create with reorder numbers the ranks of the new communicator so that few "
         "messages between neighbours in the grid pass between nodes, and MPI_Cart_map answers "
         "alike. Other communicators are never renumbered.",
         [](Options& o, std::string_view v) {
             o.reorders_grids = pick<bool>(v, {{"off", false}, {"cart", true}});
         }},
        {"SPARSE", "auto, personalized, nonblocking, locality, node_pairs", "auto",
         "How nodeaware_alltoall_sparse and nodeaware_alltoall_sparse_v (nodeaware.h) go. "
         "personalized: a reduction tells each rank how many messages come. nonblocking: "
         "synchronous sends and a barrier. locality: one message from a rank to another node, "
         "handed out there. node_pairs: one message between two nodes, twice more where messages "
         "are large or many. auto: node_pairs where exchanges can be rerouted and nodes are "
         "few, else personalized up to 16 ranks, else nonblocking.",
         [](Options& o, std::string_view v) {
             o.sparse = pick<SparseMethod>(v, {{"auto", SparseMethod::automatic},
                                               {"personalized", SparseMethod::personalized},
                                               {"nonblocking", SparseMethod::nonblocking},
                                               {"locality", SparseMethod::locality},
                                               {"node_pairs", SparseMethod::node_pairs}});
         }},
        {"PPN", "a number, or several with commas between; cyclic: before them", "",
         "Pretend that nodes have this many ranks: cuts the ranks of a machine into virtual nodes "
         "(3,1,4: sizes used in turn), or deals them out to these one by one (cyclic:3,1,4). For "
         "tests on one machine.",
         [](Options& o, std::string_view v) { parse_ppn(v, o); }},
        {"LOG", "off, warn, info, debug", "warn",
         "What to say, on stderr or in NODEAWARE_LOG_FILE.",
         [](Options& o, std::string_view v) {
             o.log = pick<LogLevel>(v, {{"off", LogLevel::off},
                                        {"warn", LogLevel::warn},
                                        {"info", LogLevel::info},
                                        {"debug", LogLevel::debug}});
         }},
        {"LOG_FILE", "a path; %h host, %p process, %r rank, %j job", "",
         "Where to say it; one file a rank if the path has %r or %p.",
         [](Options& o, std::string_view v) { o.log_file = v; }},
        {"REPORT", "0, 1, counts, or a path with / or .; %h host, %p process, %j job", "0",
         "What was rerouted, what was not and why, and where the time went, on stderr (1) or in a "
         "file (JSON if it ends in .json), by rank 0 at MPI_Finalize. counts: on stderr, without "
         "times, which costs nothing.",
         [](Options& o, std::string_view v) { parse_report(v, o); }},
        {"SIGNALS", "0, 1", "0",
         "1: write the report and the trace also where a signal ends the program.",
         [](Options& o, std::string_view v) { o.signals = parse_switch(v); }},
        {"TRACE", "a folder", "",
         "Record there what the application communicates, for `nodeaware analyze`: one file a "
         "rank, of bounded size.",
         [](Options& o, std::string_view v) { o.trace = v; }},
        {"MODE", "reroute, observe", "reroute",
         "observe: leave every call to MPI as `NODEAWARE_DISABLE` does, but see it, for "
         "NODEAWARE_TRACE and NODEAWARE_REPORT.",
         [](Options& o, std::string_view v) {
             o.observes = pick<bool>(v, {{"reroute", false}, {"observe", true}});
         }},
        {"TUNING", "a file", "",
         "What is found to be fastest is kept there, and later runs need not measure it again.",
         [](Options& o, std::string_view v) { o.tuning = v; }},
        {"NVTX", "0, 1", "0",
         "1: show profilers what is rerouted, and copies to and from GPUs, as ranges of NVTX.",
         [](Options& o, std::string_view v) { o.nvtx = parse_switch(v); }},
        {"CONFIG", "a path", "",
         "File with lines OPTION = VALUE (without the prefix); the environment wins over it.",
         [](Options&, std::string_view) {}},
        {"STRICT", "0, 1", "0",
         "1: a wrong setting, or a report, log or trace that cannot be opened, ends the job at "
         "MPI_Init.",
         [](Options& o, std::string_view v) { o.strict = parse_switch(v); }},
    };
}

} // namespace

const std::vector<OptionRow>& option_table() {
    static const std::vector<OptionRow> table = make_table();
    return table;
}

uint64_t parse_bytes(std::string_view text) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
    int shift = -1;
    if (suffix.empty()) { shift = 0; }
    if (suffix == "K" || suffix == "k") { shift = 10; }
    if (suffix == "M" || suffix == "m") { shift = 20; }
    if (suffix == "G" || suffix == "g") { shift = 30; }
    if (error != std::errc() || shift < 0) {
        throw BadValue("expected a number of bytes, with a suffix K, M or G if wanted");
    }
    if (number > (uint64_t{1} << 46) >> shift) { throw BadValue("expected at most 64 TiB"); }
    return number << shift;
}

} // namespace nodeaware
