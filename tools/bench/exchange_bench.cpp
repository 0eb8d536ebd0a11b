// exchange_bench: times MPI_X and PMPI_X alternately in one run, and checks every byte. It knows
// nothing of the library (but looks for its sparse exchanges): preloaded, MPI_X is rerouted and
// PMPI_X native; without, both are native.
#include "command_line.hpp"
#include "grid.hpp"
#include "json_file.hpp"
#include "measurement.hpp"
#include "memory.hpp"
#include "pattern.hpp"
#include "program.hpp"
#include "report.hpp"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace bench;

struct Options {
    std::vector<std::string> patterns;
    std::vector<std::string> operations{"alltoallv"};
    PatternOptions pattern;
    std::string grid;
    bool cart = false;
    Settings settings;
    std::string alternate = "iteration";
    std::string only = "both";
    bool no_sync = false;
    double shared_clock_ms = 0;
    bool shared_clock = false;
    bool print_messages = false;
    std::string memory = "host";
    std::string json;
};

struct Case {
    const Pattern* pattern;
    const Operation* operation;
};

std::string operation_names() {
    std::string names;
    for (const Operation& operation : operations())
        names += (names.empty() ? "" : ", ") + std::string(operation.name);
    return names;
}

std::string operation_help() {
    std::string text = "Operations:";
    std::size_t column = 100; // of the line that is being filled
    for (const Operation& operation : operations()) {
        const std::string name = " " + std::string(operation.name);
        if (column + name.size() > 100) {
            text += "\n ";
            column = 1;
        }
        text += name;
        column += name.size();
    }
    return text +
           "\n"
           "  i...: begun and waited for at once. persistent_...: made once, then started and "
           "waited for.\n"
           "  p2p: MPI_Irecv, MPI_Isend, MPI_Waitall. p2p_send: MPI_Irecv, MPI_Send one by "
           "one, MPI_Wait one\n"
           "  by one. p2p_persistent: requests made once, then MPI_Startall, MPI_Waitall.\n"
           "  sdde: nobody knows what it receives. nodeaware_alltoall_sparse_v, and natively "
           "MPI_Issend,\n"
           "  MPI_Iprobe and MPI_Recv until an MPI_Ibarrier is over.";
}

void add_measurement_options(CLI::App& app, Options& options) {
    Settings& settings = options.settings;
    app.add_option("--iterations", settings.iterations, "Timed calls per repeat and form")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    app.add_option("--warmup", settings.warmup, "Calls of each form before the first repeat")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--repeats", settings.repeats, "Repeats; medians are taken over them")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    app.add_option("--alternate", options.alternate,
                   "Change between native and rerouted after every: iteration, repeat")
        ->check(CLI::IsMember({"iteration", "repeat"}))
        ->capture_default_str();
    CLI::Option* only =
        app.add_option("--only", options.only, "Run only one form: native (PMPI_X), mpi (MPI_X)")
            ->check(CLI::IsMember({"native", "mpi"}));
    // With both forms, a rerouted call that is not finished everywhere would meet a native one.
    CLI::Option* no_sync =
        app.add_flag("--no-sync", options.no_sync,
                     "No barrier between timed calls: what all of them take, divided by "
                     "their number (with --only)")
            ->needs(only);
    CLI::Option* calls =
        app.add_option(
               "--calls", settings.calls,
               "After set-up and warm-up, only make so many calls without barriers, check them "
               "and print one line: to count what goes over the wire (with --only)")
            ->check(CLI::PositiveNumber)
            ->needs(only);
    app.add_option("--rest", settings.rest_ms,
                   "So many ms after each of these calls, so that TCP does not join the messages "
                   "of several calls")
        ->check(CLI::Range(0.0, 1e5))
        ->needs(calls);
    app.add_option("--shared-clock", options.shared_clock_ms,
                   "All ranks are on one machine: start every call at a common moment of its "
                   "clock, so many ms after rank 0 announces it, when the wire is idle again")
        ->check(CLI::Range(0.0, 1e5))
        ->excludes(no_sync)
        ->excludes(calls);
}

void add_options(CLI::App& app, Options& options) {
    app.add_option("--pattern", options.patterns, "Who sends how much to whom; several: a grid")
        ->required();
    app.add_option("--operation", options.operations, "One or more, or all; see below")
        ->delimiter(',')
        ->capture_default_str();
    app.add_flag("--periodic", options.pattern.periodic, "The grid of the halo patterns wraps");
    CLI::Option* grid = app.add_option(
        "--grid", options.grid, "That grid, such as 4x4x2 (default: as MPI_Dims_create makes it)");
    app.add_flag("--cart", options.cart,
                 "Ranks are those of a grid by MPI_Cart_create that may be reordered")
        ->needs(grid);
    app.add_flag("--fixed-sizes", options.pattern.fixed_sizes,
                 "Messages of the random pattern have all the same size");
    add_measurement_options(app, options);
    app.add_flag("--print-messages", options.print_messages,
                 "Only print each message of the patterns: source destination bytes");
    app.add_option(
           "--memory", options.memory,
           "Where the buffers are: host, device, managed (memory of GPUs), or mixed, another "
           "one on every rank. Where MPI takes no memory of GPUs, a native call has each message "
           "copied by itself, before it and after it")
        ->check(CLI::IsMember({"host", "device", "managed", "mixed"}))
        ->capture_default_str();
    app.add_option("--json", options.json, "Write everything to this file");
    app.footer("Patterns:\n" + pattern_help() + "\n" + operation_help());
}

// From what is on the command line to what the measurement takes.
void complete(Options& options, const CLI::App& app) {
    options.shared_clock = app.count("--shared-clock") > 0;
    if (options.shared_clock) options.settings.start = StartLine::Mode::shared_clock;
    options.settings.alternate_repeats = options.alternate == "repeat";
    if (options.only == "native") options.settings.only = Only::native;
    if (options.only == "mpi") options.settings.only = Only::mpi;
    options.settings.pause = options.shared_clock_ms * 1e-3;
    if (options.no_sync || options.settings.calls > 0)
        options.settings.start = StartLine::Mode::none;
}

std::vector<const Operation*> chosen_operations(const std::vector<std::string>& names) {
    std::vector<const Operation*> chosen;
    for (const std::string& name : names) {
        if (name == "all") {
            for (const Operation& operation : operations()) chosen.push_back(&operation);
            continue;
        }
        const Operation* operation = find_operation(name);
        if (operation == nullptr) {
            throw InputError("unknown operation '" + name + "'; the operations are " +
                             operation_names() + ", all");
        }
        chosen.push_back(operation);
    }
    return chosen;
}

// Why an operation cannot do a pattern; empty: it can.
std::string obstacle(const Operation& operation, const Pattern& pattern, int ranks,
                     const Settings& settings, const std::string& mpi_library) {
    const Only only = settings.only;
    const bool is_on_host = settings.memory->is_on_host();
    if (is_message(operation) && !is_on_host && !does_mpi_take_devices())
        return "this MPI does not say that it takes memory of GPUs";
    if (is_sparse(operation) && !is_on_host) return "only with buffers on the host";
    if (is_sparse(operation) && only != Only::native && !settings.has_sparse_functions) {
        return "not all ranks have nodeaware_alltoall_sparse_v (nodeaware run preloads the "
               "library; --only native does without)";
    }
    if (operation.only_uniform && !pattern.uniform) return "only for the uniform pattern";
    if (only != Only::mpi && has_defect(operation, pattern, ranks, mpi_library))
        return "native MPICH 4.0 fails where a rank has more neighbours one way than the other";
    return {};
}

// All pairs of pattern and operation that fit together, checked before anything runs.
std::vector<Case> make_cases(const std::vector<Pattern>& patterns,
                             const std::vector<const Operation*>& chosen, const Settings& settings,
                             int rank, int ranks) {
    const std::string mpi_library = mpi_library_version();
    std::vector<Case> cases;
    for (const Pattern& pattern : patterns) {
        for (const Operation* operation : chosen) {
            const std::string reason = obstacle(*operation, pattern, ranks, settings, mpi_library);
            if (reason.empty()) {
                check_sizes(pattern, *operation, ranks);
                cases.push_back({&pattern, operation});
            } else if (rank == 0) {
                std::fprintf(stderr, "exchange_bench: skipped: %s of %s: %s\n", operation->name,
                             pattern.spec.c_str(), reason.c_str());
            }
        }
    }
    if (cases.empty()) throw InputError("nothing is left to measure");
    return cases;
}

void print_messages(const std::vector<Pattern>& patterns) {
    for (const Pattern& pattern : patterns) {
        std::printf("# %s\n", pattern.spec.c_str());
        for (const Message& message : pattern.messages) {
            std::printf("%d %d %lld\n", message.source, message.destination,
                        static_cast<long long>(message.bytes));
        }
    }
}

nlohmann::ordered_json describe_run(const Options& options, const CLI::App& app, int ranks,
                                    int ranks_with_library) {
    const Settings& settings = options.settings;
    nlohmann::ordered_json json{{"program", app.get_name()},
                                {"mpi_library", mpi_library_version()},
                                {"ranks", ranks},
                                {"ranks_with_library", ranks_with_library}};
    const char* start = settings.start == StartLine::Mode::none ? "none"
                        : options.shared_clock                  ? "shared_clock"
                                                                : "barrier";
    json["options"] = {{"pattern", options.patterns},
                       {"operation", options.operations},
                       {"periodic", options.pattern.periodic},
                       {"grid", options.grid},
                       {"cart", options.cart},
                       {"fixed_sizes", options.pattern.fixed_sizes},
                       {"iterations", settings.iterations},
                       {"warmup", settings.warmup},
                       {"repeats", settings.repeats},
                       {"calls", settings.calls},
                       {"alternate", options.alternate},
                       {"forms", options.only},
                       {"memory", options.memory},
                       {"start", start},
                       {"shared_clock_ms", options.shared_clock_ms}};
    if (options.shared_clock) {
        json["last_moment"] =
            StartLine(settings.start, settings.pause, ranks).spins() ? "spin" : "sleep";
    }
    json["complete"] = false;
    json["cases"] = nlohmann::ordered_json::array();
    return json;
}

// Rank 0's output. The JSON file is written after every case, so that a run that is cut short
// leaves what it has measured, and a file that cannot be written is known at once.
class Output {
  public:
    Output(const Options& options, const std::vector<Case>& cases, const CLI::App& app,
           MPI_Comm control)
        : options_(options), control_(control) {
        int ranks = 0;
        check(MPI_Comm_rank(control, &rank_), "MPI_Comm_rank");
        check(MPI_Comm_size(control, &ranks), "MPI_Comm_size");
        const bool needs_library = options.settings.only != Only::native;
        json_ = describe_run(options, app, ranks,
                             ranks_with_library(app.get_name(), needs_library, control));
        save(false);
        std::vector<std::string> labels;
        std::vector<std::string> names;
        for (const Case& one : cases) {
            labels.push_back(one.pattern->label);
            names.emplace_back(one.operation->name);
        }
        table_ = std::make_unique<Table>(labels, names, options.shared_clock);
        if (rank_ == 0 && options.settings.calls == 0) table_->print_header();
    }

    void add(const CaseResult& result, bool last) {
        if (rank_ == 0) {
            if (options_.settings.calls > 0) {
                print_calls(result, options_.settings.calls);
            } else {
                table_->print(result);
            }
            print_wrong_data(result);
            json_["cases"].push_back(to_json(result));
            json_["complete"] = last;
        }
        save(last);
    }

  private:
    void save(bool last) {
        if (options_.json.empty()) return;
        const auto write = last ? write_json : write_unfinished_json;
        throw_everywhere(rank_ == 0 ? write(options_.json, json_) : "", control_);
    }

    const Options& options_;
    MPI_Comm control_;
    int rank_ = 0;
    nlohmann::ordered_json json_;
    std::unique_ptr<Table> table_;
};

// Collective. `memory` lives until MPI is finished.
void open_memory(Options& options, Memory& memory, const CLI::App& app, MPI_Comm control) {
    memory.open(options.memory, control);
    options.settings.memory = &memory;
    if (memory.is_on_host() || does_mpi_take_devices()) return;
    options.settings.native_by_copies = true;
    int ranks = 0;
    check(MPI_Comm_size(control, &ranks), "MPI_Comm_size");
    const bool is_rerouted = options.settings.only != Only::native;
    const bool has_library = ranks_with_library(app.get_name(), false, control) == ranks;
    throw_everywhere(is_rerouted && !has_library
                         ? "this MPI does not say that it takes memory of GPUs "
                           "(NODEAWARE_DEVICE_AWARE=yes says so for it), and not all ranks have "
                           "libnodeaware.so preloaded; --only native does without"
                         : "",
                     control);
}

int run(Options& options, Memory& memory, const CLI::App& app, MPI_Comm world) {
    int rank = 0;
    int ranks = 0;
    check(MPI_Comm_size(world, &ranks), "MPI_Comm_size");
    if (!options.grid.empty()) options.pattern.grid = parse_grid(options.grid, ranks);
    std::optional<CartesianOrder> cart;
    if (options.cart) cart.emplace(world, options.pattern);
    MPI_Comm control = cart ? cart->comm() : world;
    check(MPI_Comm_rank(control, &rank), "MPI_Comm_rank");
    complete(options, app);
    const std::vector<const Operation*> chosen = chosen_operations(options.operations);
    const std::vector<Pattern> patterns =
        share_patterns(options.patterns, options.pattern, control);
    if (options.print_messages) {
        if (rank == 0) print_messages(patterns);
        return exit_ok;
    }
    open_memory(options, memory, app, control);
    options.settings.has_sparse_functions = has_sparse_functions(control);
    const std::vector<Case> cases = make_cases(patterns, chosen, options.settings, rank, ranks);
    Output output(options, cases, app, control);
    std::int64_t wrong_bytes = 0;
    for (const Case& one : cases) {
        const CaseResult result = measure(*one.pattern, *one.operation, options.settings, control);
        wrong_bytes += result.wrong_bytes();
        output.add(result, &one == &cases.back());
    }
    return wrong_bytes == 0 ? exit_ok : exit_wrong_data;
}

} // namespace

int main(int argc, char** argv) {
    return bench::program_status([&] {
        CLI::App app("Times MPI exchanges, rerouted (MPI_X) and native (PMPI_X) side by side",
                     "exchange_bench");
        Options options;
        Memory memory;
        add_options(app, options);
        return run_program(argc, argv, app,
                           [&](MPI_Comm control) { return run(options, memory, app, control); });
    });
}
