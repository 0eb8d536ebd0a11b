#pragma once

#include "tests/mpi/conformance/recorder.hpp"

#include <functional>
#include <string>
#include <vector>

namespace nodeaware::conformance {

/// What all ranks send to all while a communicator is made to be taken over.
constexpr int learned_count = 8;
constexpr int learned_tag = 5;

/// What a case works with.
struct Context {
    Recorder& out;
    MPI_Comm comm;             ///< a case may free it and leave MPI_COMM_NULL
    MPI_Comm side;             ///< of the same ranks, to meet on
    MPI_Comm graph;            ///< with a topology, made from `comm`, if asked for
    bool after;                ///< the library has been made to take `comm` over
    std::string name = "comm"; ///< under which errors on `comm` are noted
    int rank = 0;
    int size = 0;

    /// With the virtual nodes of the tests 3 leads to another node from everywhere, 1 does not.
    int right(int shift) const { return (rank + shift) % size; }
    int left(int shift) const { return (rank + size - shift) % size; }
    void sync() const {
        const int code = MPI_Barrier(side);
        if (code != MPI_SUCCESS) { out.call("sync", code); }
    }
};

/// The communicator of a case.
enum class Needs {
    shared, ///< with the cases of its group, which do not use blocking collective calls on it, and
            ///< leave no message to be found by those before and behind them
    graph,  ///< that, and one with a topology that was made from it
    fresh,  ///< its own, which nothing was done on
    warm,   ///< its own, taken over where that is the phase
    world,  ///< MPI_COMM_WORLD
};

struct Case {
    std::string group;
    std::string name;
    Needs needs;
    std::function<void(Context&)> run;
};

class Cases {
  public:
    void group(const std::string& name) { group_ = name; }
    void add(const std::string& name, Needs needs, std::function<void(Context&)> run) {
        list_.push_back({group_, group_ + "." + name, needs, std::move(run)});
    }
    const std::vector<Case>& list() const { return list_; }

  private:
    std::string group_;
    std::vector<Case> list_;
};

// The cases, one function for each file.
void add_message_arguments(Cases& cases);
void add_combined_arguments(Cases& cases);
void add_truncation(Cases& cases);
void add_truncation_of_lists(Cases& cases);
void add_completion(Cases& cases);
void add_completion_errors(Cases& cases);
void add_cancelling(Cases& cases);
void add_lifetimes(Cases& cases);
void add_sending(Cases& cases);
void add_receiving(Cases& cases);
void add_matched(Cases& cases);
void add_persistent(Cases& cases);
void add_message_types(Cases& cases);
void add_generalized(Cases& cases);
void add_exchange_arguments(Cases& cases);
void add_exchange_alone(Cases& cases);
void add_exchange_data(Cases& cases);
void add_exchange_truncation(Cases& cases);
void add_exchange_places(Cases& cases);
void add_meetings(Cases& cases);
void add_blocking(Cases& cases);
void add_communicators(Cases& cases);

/// One message as learned to the rank `shift` further on, and one from there, checked.
void correct_message(Context& context, int shift, const std::string& what);

/// Both ways in which errors can be noted, in turn.
template <class Body> void with_both_handlers(Context& context, Body body) {
    context.out.line(" with a handler:");
    body();
    Recorder::only_return(context.comm);
    context.out.line(" errors only returned:");
    body();
    context.out.watch(context.comm, context.name);
}

/// Waits until all requests are complete, and leaves them so.
void wait_until_ready(const std::vector<MPI_Request>& requests);

} // namespace nodeaware::conformance
