// What all programs share: errors that all ranks see alike, the clock, the MPI library's name.
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>
#include <time.h>

namespace bench {

enum ExitStatus { exit_ok = 0, exit_wrong_data = 1, exit_bad_input = 2 };

// Something the user has to correct. Thrown by all ranks together, printed by rank 0.
class InputError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Collective: all ranks throw InputError if rank 0 passes a text that is not empty. Makes a
// failure that only rank 0 sees (a file) everybody's.
void throw_everywhere(const std::string& error, MPI_Comm comm);

// Collective: all ranks get the text that `root` has.
void broadcast(std::string& text, MPI_Comm comm, int root = 0);

std::string mpi_library_version();

// Collective: how many ranks have libnodeaware.so preloaded, on rank 0. Where the forms that are
// measured need it (`is_needed`) and not all have it, rank 0 says so.
int ranks_with_library(const std::string& program, bool is_needed, MPI_Comm comm);

// Seconds of CLOCK_MONOTONIC, which all processes of one machine share.
inline double now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Until that time of now().
void sleep_until(double time);

} // namespace bench
