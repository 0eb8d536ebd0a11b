#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nodeaware {

/// What a launcher says in the environment of the processes that it starts.
struct Launched {
    std::string variable; ///< that says how many they are
    std::string count;
    bool is_rank_0 = false;
};

/// The launcher that has started this process with others, though the process is alone in
/// MPI_COMM_WORLD: one of another MPI than the program's. `environment`: strings of the form
/// NAME=VALUE. `variable` is empty where no launcher says that there are others, or one says that
/// there are none: so a job of one process that a process of a larger job has started, or one in a
/// batch script of Slurm, is as it should be. `by_slurm`: a step of Slurm has started this very
/// process, so that what other launchers say is of something around it.
Launched launched_with_others(const std::vector<std::string>& environment, bool by_slurm);

/// What to say to the user of an MPI of this name whose processes are each alone; empty where they
/// are not, or this is not the one that says it. `size`: that of MPI_COMM_WORLD. Only who the
/// launcher itself has started says anything: what a rank, a script or a server starts may well be
/// alone.
std::string complaint_of_launcher(int size, std::string_view mpi_name);

} // namespace nodeaware
