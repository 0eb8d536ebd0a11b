#include "tools/simulate/job.hpp"

#include "runtime/mpi/mpi.hpp"
#include "tools/simulate/exchange.hpp"
#include "tools/simulate/mpi_functions.hpp"
#include "tools/simulate/virtual_time.hpp"
#include "tuning/costs_of.hpp"

#include <algorithm>
#include <simgrid/s4u.hpp>
#include <smpi/smpi.h>
#include <stdexcept>

namespace nodeaware::simulation {

namespace {

namespace sg = simgrid::s4u;

constexpr const char* instance = "job";

/// Messages that a rank sends or receives, for each rank, in the order of all.
std::vector<std::vector<bench::Message>> messages_by_rank(const bench::Pattern& pattern,
                                                          int ranks) {
    std::vector<std::vector<bench::Message>> all(static_cast<size_t>(ranks));
    for (const bench::Message& message : pattern.messages) {
        all[static_cast<size_t>(message.source)].push_back(message);
        if (message.destination == message.source) { continue; }
        all[static_cast<size_t>(message.destination)].push_back(message);
    }
    return all;
}

/// What the ranks have in common: all of them are in this process.
class Job {
  public:
    Job(std::span<const bench::Pattern* const> patterns, const JobSettings& settings,
        Platform& platform, const Tell& tell)
        : settings_(settings), platform_(platform), tell_(tell),
          line_(sg::Barrier::create(static_cast<unsigned>(platform.ranks()))) {
        const auto calls = static_cast<size_t>(settings.calls_before + settings.calls);
        for (const bench::Pattern* const pattern : patterns) {
            cases_.push_back(
                {messages_by_rank(*pattern, platform.ranks()), std::vector<double>(calls), {}, {}});
        }
    }

    /// The program of a rank.
    void run(int number);
    /// It has come to its end; throws std::runtime_error.
    void check() const;

  private:
    /// An exchange, and what it has taken.
    struct Case {
        std::vector<std::vector<bench::Message>> messages; ///< by rank
        std::vector<double> slowest;                       ///< of each call
        bench::WrongData wrong;
        Platform::Traffic traffic;
    };

    void run_calls(Rank& rank, Case& of, int number);
    void call(Rank& rank, Exchange& exchange, Case& of, size_t call, bool is_first_rank);
    JobResult result(const Case& of) const;

    const JobSettings& settings_;
    Platform& platform_;
    const Tell& tell_;
    std::vector<Case> cases_;
    sg::BarrierPtr line_; ///< which takes no time
    int ended_ = 0;
    std::string failure_;
};

void Job::call(Rank& rank, Exchange& exchange, Case& of, size_t call, bool is_first_rank) {
    line_->wait();
    if (is_first_rank) {
        platform_.reset_traffic();
        virtual_time::begin_call();
    }
    const double start = sg::Engine::get_clock();
    exchange.run();
    of.slowest[call] = std::max(of.slowest[call], sg::Engine::get_clock() - start);
    rank.go_away(); // the line is not MPI's
    line_->wait();
    if (is_first_rank) { of.traffic = platform_.traffic(); }
}

void Job::run_calls(Rank& rank, Case& of, int number) {
    bench::Memory memory;
    bench::Buffers buffers(of.messages[static_cast<size_t>(number)], number, {}, memory);
    const auto exchange = make_exchange(settings_.operation, rank, buffers, platform_.ranks());
    for (size_t i = 0; i < of.slowest.size(); ++i) {
        buffers.fill(static_cast<int64_t>(i));
        rank.barrier();
        call(rank, *exchange, of, i, number == 0);
        exchange->deliver();
        buffers.verify(static_cast<int64_t>(i), of.wrong);
    }
    rank.barrier();
}

void Job::run(int number) {
    try {
        virtual_time::begin_rank(number);
        if (PMPI_Init(nullptr, nullptr) != MPI_SUCCESS) {
            throw std::runtime_error("MPI_Init fails");
        }
        {
            Rank rank(settings_.core);
            if (!settings_.core.empty() && !rank.has_core()) {
                throw std::runtime_error("the library does not start");
            }
            for (size_t i = 0; i < cases_.size(); ++i) {
                run_calls(rank, cases_[i], number);
                if (number == 0) { tell_(i, result(cases_[i])); } // all have left the barrier
            }
        }
        PMPI_Finalize();
        ++ended_;
    } catch (const std::exception& error) {
        if (failure_.empty()) { failure_ = "rank " + std::to_string(number) + ": " + error.what(); }
        sg::Actor::kill_all();
    }
}

JobResult Job::result(const Case& of) const {
    std::vector<double> counted(of.slowest.begin() + settings_.calls_before, of.slowest.end());
    const auto middle = counted.begin() + static_cast<long>(counted.size() / 2);
    std::nth_element(counted.begin(), middle, counted.end());
    return {*middle, of.slowest.front(), of.traffic, of.wrong.bytes};
}

void Job::check() const {
    if (!failure_.empty()) { throw std::runtime_error(failure_); }
    if (ended_ < platform_.ranks()) { throw std::runtime_error("not all ranks come to the end"); }
}

} // namespace

void run_job(std::span<const bench::Pattern* const> patterns, const JobSettings& settings,
             const Tell& tell) {
    std::vector<std::string> words = {"nodeaware_simulator",
                                      "--log=root.thresh:error",
                                      "--cfg=contexts/stack-size:1024",
                                      "--cfg=contexts/guard-size:0",
                                      "--cfg=smpi/allgather:bruck",
                                      "--cfg=smpi/allreduce:rdb",
                                      "--cfg=smpi/barrier:ompi_bruck",
                                      "--cfg=smpi/bcast:binomial_tree"};
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) { arguments.push_back(word.data()); }
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    smpi_init_options(); // which knows the one on collectives
    sg::Engine engine(&count, arguments.data());
    SMPI_init();
    Platform platform(engine, settings.table, settings.shape, settings.shares);
    const std::vector<int> nodes = platform.nodes();
    set_nodes(nodes.data());
    const Costs costs = tuning::costs_of(settings.table, 1);
    constexpr double many = 1e5; // messages one after the other, more than any exchange has
    virtual_time::open(nodes, {costs.flag, costs.copy_per_byte, many * costs.eager().latency});
    if (const char* const missing = load_mpi(find_function)) {
        throw std::logic_error(std::string("no ") + missing);
    }
    Job job(patterns, settings, platform, tell);
    SMPI_app_instance_register(instance, nullptr, platform.ranks());
    for (int rank = 0; rank < platform.ranks(); ++rank) {
        const auto actor = sg::Actor::create("rank-" + std::to_string(rank),
                                             platform.hosts()[static_cast<size_t>(rank)],
                                             [&job, rank] { job.run(rank); });
        actor->set_property("instance_id", instance);
        actor->set_property("rank", std::to_string(rank));
    }
    engine.run();
    SMPI_finalize();
    job.check();
}

} // namespace nodeaware::simulation
