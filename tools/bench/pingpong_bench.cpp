// pingpong_bench: time of small messages between two ranks, MPI_X and PMPI_X in turn.
// Shows what a preloaded library costs a program whose messages it leaves alone.
#include "command_line.hpp"
#include "json_file.hpp"
#include "mpi_forms.hpp"
#include "program.hpp"
#include "statistics.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace bench;

struct Options {
    int partner = -1; // the last rank
    std::vector<int> bytes{8};
    int iterations = 1000;
    int warmup = 200;
    int repeats = 30;
    bool nonblocking = false;
    std::string json;
};

struct FormTimes {
    const Form* form;
    std::vector<double> one_way; // microseconds, one per repeat
};

struct Result {
    int bytes = 0;
    bool wrong = false;
    std::array<FormTimes, 2> forms{{{&native_form, {}}, {&mpi_form, {}}}};
    std::vector<double> ratios;
};

// `comm` holds only the two players.
class PingPong {
  public:
    PingPong(const Options& options, int bytes, MPI_Comm comm)
        : options_(options), bytes_(bytes), comm_(comm), data_(static_cast<std::size_t>(bytes)),
          sent_(data_), received_(data_) {
        check(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
    }

    // Complete on rank 0.
    Result run() {
        Result result;
        result.bytes = bytes_;
        for (const FormTimes& times : result.forms) exchange(*times.form, options_.warmup);
        for (int repeat = 0; repeat < options_.repeats; ++repeat) {
            refill(repeat);
            for (FormTimes& times : result.forms)
                times.one_way.push_back(exchange(*times.form, options_.iterations));
            // What came back must be what left; the partner returns what it gets.
            if (rank_ == 0 && (wrong_ || (!options_.nonblocking && data_ != sent_)))
                result.wrong = true;
            result.ratios.push_back(result.forms[0].one_way.back() /
                                    result.forms[1].one_way.back());
        }
        return result;
    }

  private:
    void refill(int repeat) {
        for (std::size_t i = 0; i < sent_.size(); ++i)
            sent_[i] = static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(repeat) + 1);
        if (rank_ == 0) data_ = sent_;
    }

    double exchange(const Form& form, int iterations) {
        // Also lets a preloaded library finish its last send before native calls, which it does
        // not see, wait for it.
        check(MPI_Barrier(comm_), "MPI_Barrier");
        const bool first = rank_ == 0;
        const int other = first ? 1 : 0;
        const double begin = now();
        if (options_.nonblocking) {
            for (int i = 0; i < iterations; ++i) swap_messages(form, other);
            if (received_ != sent_) wrong_ = true;
            return (now() - begin) * 1e6 / std::max(iterations, 1);
        }
        for (int i = 0; i < iterations; ++i) {
            if (first) send(form, other);
            check(form.recv(data_.data(), bytes_, MPI_BYTE, other, 0, comm_, MPI_STATUS_IGNORE),
                  "Recv");
            if (!first) send(form, other);
        }
        return (now() - begin) * 1e6 / (2.0 * std::max(iterations, 1));
    }

    void swap_messages(const Form& form, int other) {
        std::array<MPI_Request, 2> requests{};
        check(form.irecv(received_.data(), bytes_, MPI_BYTE, other, 0, comm_, &requests[0]),
              "Irecv");
        check(form.isend(sent_.data(), bytes_, MPI_BYTE, other, 0, comm_, &requests[1]), "Isend");
        check(form.waitall(2, requests.data(), MPI_STATUSES_IGNORE), "Waitall");
    }

    void send(const Form& form, int other) {
        check(form.send(data_.data(), bytes_, MPI_BYTE, other, 0, comm_), "Send");
    }

    const Options& options_;
    int bytes_;
    MPI_Comm comm_;
    int rank_ = 0;
    std::vector<unsigned char> data_;
    std::vector<unsigned char> sent_;
    std::vector<unsigned char> received_;
    bool wrong_ = false;
};

// Ranks that take no part wait for the others without keeping their cores busy.
void wait_quietly(MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
    constexpr timespec pause{0, 2'000'000};
    for (int done = 0;;) {
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done != 0) return;
        nanosleep(&pause, nullptr);
    }
}

void print(const Result& result) {
    for (const FormTimes& times : result.forms) {
        const Summary s = summarize(times.one_way);
        std::printf("%10d  %-6s  %10.3f  %10.3f  %10.3f\n", result.bytes, times.form->name,
                    s.median, s.min, s.max);
    }
    const Summary ratio = summarize(result.ratios);
    std::printf("%10d  %-6s  %10.3f  %10.3f  %10.3f  (native:mpi)%s\n", result.bytes, "ratio",
                ratio.median, ratio.min, ratio.max, result.wrong ? "  WRONG DATA" : "");
    std::fflush(stdout);
}

nlohmann::ordered_json to_json(const Result& result) {
    nlohmann::ordered_json json{{"bytes", result.bytes}, {"wrong_data", result.wrong}};
    for (const FormTimes& times : result.forms) {
        json[times.form->name] = {{"one_way_us", bench::to_json(summarize(times.one_way))},
                                  {"repeats_us", times.one_way}};
    }
    json["ratio"] = {{"summary", bench::to_json(summarize(result.ratios))},
                     {"repeats", result.ratios}};
    return json;
}

nlohmann::ordered_json describe_run(const Options& options, int ranks, int ranks_with_library) {
    return {{"program", "pingpong_bench"},
            {"mpi_library", mpi_library_version()},
            {"ranks", ranks},
            {"ranks_with_library", ranks_with_library},
            {"options",
             {{"partner", options.partner},
              {"bytes", options.bytes},
              {"iterations", options.iterations},
              {"warmup", options.warmup},
              {"repeats", options.repeats},
              {"nonblocking", options.nonblocking}}},
            {"cases", nlohmann::ordered_json::array()}};
}

int run(Options& options, MPI_Comm control) {
    int rank = 0;
    int ranks = 0;
    check(MPI_Comm_rank(control, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(control, &ranks), "MPI_Comm_size");
    if (options.partner < 0) options.partner = ranks - 1;
    if (options.partner < 1 || options.partner >= ranks) {
        throw InputError("no rank " + std::to_string(std::max(options.partner, 1)) +
                         " to play with: there are " + std::to_string(ranks) + " ranks");
    }
    nlohmann::ordered_json json =
        describe_run(options, ranks, ranks_with_library("pingpong_bench", true, control));
    if (rank == 0) {
        std::printf("%10s  %-6s  %10s  %10s  %10s\n", "bytes", "form", "median us", "min us",
                    "max us");
    }
    const bool plays = rank == 0 || rank == options.partner;
    MPI_Comm pair = MPI_COMM_NULL;
    check(MPI_Comm_split(control, plays ? 0 : MPI_UNDEFINED, rank, &pair), "MPI_Comm_split");
    int wrong = 0;
    if (plays) {
        for (const int bytes : options.bytes) {
            const Result result = PingPong(options, bytes, pair).run();
            wrong |= result.wrong ? 1 : 0;
            if (rank == 0) print(result);
            json["cases"].push_back(to_json(result));
        }
        check(MPI_Comm_free(&pair), "MPI_Comm_free");
    }
    wait_quietly(control);
    check(MPI_Bcast(&wrong, 1, MPI_INT, 0, control), "MPI_Bcast");
    if (!options.json.empty())
        throw_everywhere(rank == 0 ? write_json(options.json, json) : "", control);
    return wrong == 0 ? exit_ok : exit_wrong_data;
}

} // namespace

int main(int argc, char** argv) {
    return bench::program_status([&] {
        CLI::App app("One-way time of messages between rank 0 and a partner", "pingpong_bench");
        Options options;
        app.add_option("--partner", options.partner, "The other rank (default: the last)");
        app.add_option("--bytes", options.bytes, "Message sizes")
            ->delimiter(',')
            ->check(CLI::NonNegativeNumber)
            ->capture_default_str();
        app.add_option("--iterations", options.iterations, "Round trips per repeat and form")
            ->check(CLI::PositiveNumber)
            ->capture_default_str();
        app.add_option("--warmup", options.warmup,
                       "Round trips of each form before the first repeat")
            ->check(CLI::NonNegativeNumber)
            ->capture_default_str();
        app.add_option("--repeats", options.repeats,
                       "Repeats, over which median, min, max are taken")
            ->check(CLI::PositiveNumber)
            ->capture_default_str();
        app.add_flag("--nonblocking", options.nonblocking,
                     "Both send at once: MPI_Irecv, MPI_Isend, MPI_Waitall; the time of all three");
        app.add_option("--json", options.json, "Write everything to this file");
        return run_program(argc, argv, app,
                           [&](MPI_Comm control) { return run(options, control); });
    });
}
