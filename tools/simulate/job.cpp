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
    Job(const bench::Pattern& pattern, const JobSettings& settings, Platform& platform)
        : settings_(settings), platform_(platform),
          messages_(messages_by_rank(pattern, platform.ranks())),
          line_(sg::Barrier::create(static_cast<unsigned>(platform.ranks()))),
          slowest_(static_cast<size_t>(settings.calls_before + settings.calls)) {}

    /// The program of a rank.
    void run(int number);
    JobResult result() const;

  private:
    void run_calls(Rank& rank, int number);
    void call(Rank& rank, Exchange& exchange, size_t number, bool is_first_rank);

    const JobSettings& settings_;
    Platform& platform_;
    std::vector<std::vector<bench::Message>> messages_;
    sg::BarrierPtr line_; ///< which takes no time
    std::vector<double> slowest_;
    bench::WrongData wrong_;
    Platform::Traffic traffic_;
    int ended_ = 0;
    std::string failure_;
};

void Job::call(Rank& rank, Exchange& exchange, size_t number, bool is_first_rank) {
    line_->wait();
    if (is_first_rank) {
        platform_.reset_traffic();
        virtual_time::begin_call();
    }
    const double start = sg::Engine::get_clock();
    exchange.run();
    slowest_[number] = std::max(slowest_[number], sg::Engine::get_clock() - start);
    rank.go_away(); // the line is not MPI's
    line_->wait();
    if (is_first_rank) { traffic_ = platform_.traffic(); }
}

void Job::run_calls(Rank& rank, int number) {
    bench::Memory memory;
    bench::Buffers buffers(messages_[static_cast<size_t>(number)], number, {}, memory);
    const auto exchange = make_exchange(settings_.operation, rank, buffers, platform_.ranks());
    for (size_t i = 0; i < slowest_.size(); ++i) {
        buffers.fill(static_cast<int64_t>(i));
        rank.barrier();
        call(rank, *exchange, i, number == 0);
        exchange->deliver();
        buffers.verify(static_cast<int64_t>(i), wrong_);
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
            run_calls(rank, number);
        }
        PMPI_Finalize();
        ++ended_;
    } catch (const std::exception& error) {
        if (failure_.empty()) { failure_ = "rank " + std::to_string(number) + ": " + error.what(); }
        sg::Actor::kill_all();
    }
}

JobResult Job::result() const {
    if (!failure_.empty()) { throw std::runtime_error(failure_); }
    if (ended_ < platform_.ranks()) { throw std::runtime_error("not all ranks come to the end"); }
    std::vector<double> counted(slowest_.begin() + settings_.calls_before, slowest_.end());
    const auto middle = counted.begin() + static_cast<long>(counted.size() / 2);
    std::nth_element(counted.begin(), middle, counted.end());
    return {*middle, slowest_.front(), traffic_, wrong_.bytes};
}

} // namespace

JobResult run_job(const bench::Pattern& pattern, const JobSettings& settings) {
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
    Job job(pattern, settings, platform);
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
    return job.result();
}

} // namespace nodeaware::simulation
