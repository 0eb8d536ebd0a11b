#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

/// The time of the simulation as the ranks see it, and how they wait in it. What a rank does
/// between two calls of MPI takes no time but what is charged here. All ranks are contexts of one
/// thread.
namespace nodeaware::simulation::virtual_time {

struct Costs {
    double flag = 0;          ///< seconds from raising a flag until another rank has seen it
    double copy_per_byte = 0; ///< of memory, to or from what the ranks of a node share
    double hopeless = 0;      ///< who looks so long after the last begin_call() looks in vain
};

/// Before any rank runs. `node_of`: of each rank.
void open(const std::vector<int>& node_of, const Costs& costs);
/// The context that calls this is that rank from now on.
void begin_rank(int rank);
/// Of the context that runs, or -1.
int rank();

/// The ranks begin another call.
void begin_call();
/// The exit status of the process where a rank waits for what does not come.
inline constexpr int waits_for_ever = 9;

/// Seconds since the simulation began; ranks are a little ahead by what they have been charged for.
double now();
/// What copying so many bytes takes, paid when the rank next waits or calls MPI.
void charge_copy(size_t bytes);

/// A message will have come to the rank at that time, or, of the one that sent it, will be gone.
void arrives(int rank, double time);

/// Until all messages have come that are under way to this rank.
void wait_for_arrivals();

/// This rank has found or done something: others of its node may find something now.
void note_progress();
/// Before a call of MPI: pays, and lets the others of the node look.
void before_call();
/// This rank looks again and again for what may come by message or from its node.
void pause();
/// It waits for a flag of its node alone, as long as that has this value, at most so many seconds.
void sleep(const std::atomic<uint32_t>& flag, uint32_t value, double most);
/// Wakes all of its node that do.
void wake();

} // namespace nodeaware::simulation::virtual_time
