#include "runtime/job/machine_ranks.hpp"

#include "runtime/mpi/mpi.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace nodeaware {

namespace {

/// In this communicator of its machine.
MachineRanks as_mpi_says(int rank, MPI_Comm comm) {
    MachineRanks machine;
    MPI_CALL(Comm_rank, comm, &machine.position);
    MPI_CALL(Comm_size, comm, &machine.ranks);
    machine.first_rank = rank;
    MPI_CALL(Bcast, &machine.first_rank, 1, MPI_INT, 0, comm);
    return machine;
}

/// Processes with the same text run on one kernel and see the same processes, under one name, as
/// those of one Docker container do, and ranks that have a mount namespace each (Apptainer); other
/// containers and emulated nodes do not. Empty: the system does not tell.
std::string description_of_system() {
    std::string text;
    std::ifstream boot("/proc/sys/kernel/random/boot_id");
    if (!std::getline(boot, text) || text.empty()) { return ""; }
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) { return ""; }
    text += name.data();
    for (const char* const space : {"pid", "uts"}) {
        const std::string file = std::string("/proc/self/ns/") + space;
        std::array<char, 64> link{};
        if (readlink(file.c_str(), link.data(), link.size() - 1) <= 0) { return ""; }
        text += link.data();
    }
    return text;
}

/// Equal for ranks that can share memory. Where others have the same by chance, they find out that
/// they cannot, and do without.
uint64_t key_of_system(int rank) {
    const std::string text = description_of_system();
    if (text.empty()) { return static_cast<uint64_t>(rank); }
    uint64_t key = 0xcbf29ce484222325; // FNV-1a
    for (const char letter : text) {
        key = (key ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    }
    return key;
}

MachineRanks as_the_system_says(int rank, int size) {
    const uint64_t mine = key_of_system(rank);
    std::vector<uint64_t> keys(static_cast<size_t>(size));
    MPI_CALL(Allgather, &mine, 1, MPI_UINT64_T, keys.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    const auto own = keys.begin() + rank;
    return {static_cast<int>(std::count(keys.begin(), own, mine)),
            static_cast<int>(std::count(keys.begin(), keys.end(), mine)),
            static_cast<int>(std::find(keys.begin(), own, mine) - keys.begin())};
}

#ifdef NODEAWARE_VIRTUAL_TIME
constexpr bool may_ask_the_system = false; // which all ranks share, whatever nodes they stand for
#else
constexpr bool may_ask_the_system = true;
#endif

} // namespace

MachineRanks find_machine_ranks(int rank, int size) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_CALL(Comm_split_type, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    const MachineRanks machine = as_mpi_says(rank, comm);
    int most = 0;
    MPI_CALL(Allreduce, &machine.ranks, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_CALL(Comm_free, &comm);
    const bool are_alone = most == 1 && size > 1;
    return are_alone && may_ask_the_system ? as_the_system_says(rank, size) : machine;
}

} // namespace nodeaware
