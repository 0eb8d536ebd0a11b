#pragma once

#include "runtime/job/options.hpp"
#include "runtime/mpi/mpi.hpp"

#include <optional>
#include <string>
#include <vector>

namespace nodeaware {

/// The job: what all ranks of MPI_COMM_WORLD know after MPI_Init. Constant afterwards.
struct World {
    int rank = 0;
    int size = 0;
    Options options;
    std::string settings;         ///< those of rank 0 as text: NAME=VALUE in each line
    std::string model_table;      ///< that costs are from
    std::vector<int> node_of;     ///< node (region) of every rank, named by any integers
    int machines = 1;             ///< which may have several nodes
    int ranks_here = 1;           ///< on this machine
    bool oversubscribed = false;  ///< more ranks than cores on this machine
    bool threads_at_once = false; ///< MPI_THREAD_MULTIPLE on any rank
    MPI_Group group = MPI_GROUP_NULL;

    /// Collective over MPI_COMM_WORLD; reads the options of rank 0. Throws MpiError, and
    /// BadSettings on rank 0 if they are wrong and strict.
    static World discover();

    /// The ranks of a communicator, by their ranks in MPI_COMM_WORLD; nothing if some do not belong
    /// to this world. Throws MpiError.
    std::optional<std::vector<int>> ranks_of(MPI_Comm comm) const;
    /// Their nodes.
    std::optional<std::vector<int>> nodes_of(MPI_Comm comm) const;
    std::vector<int> nodes_of(const std::vector<int>& ranks) const;

    size_t nodes() const;

    /// Whatever the messages and nonblocking calls of this operation are, no rank reroutes any: the
    /// settings say so, or one machine has all nodes and nobody has asked for more.
    bool leaves_to_mpi(Operation operation) const;

    /// Warns of what is wrong on some ranks, in one line. Collective over MPI_COMM_WORLD;
    /// `complaint` is empty where nothing is. Returns whether anything was. Throws MpiError.
    bool complain_once(const std::string& complaint) const;
    /// The same of settings while the job begins. Throws BadSettings on all ranks where they are
    /// strict and something is wrong.
    bool complain_of_settings(const std::string& complaint) const;
};

/// Some settings are wrong, and NODEAWARE_STRICT asks to end the job.
struct BadSettings : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace nodeaware
