#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

/// What the MPI test programs share: every rank checks, rank by rank the first failures are
/// printed, and the program fails if any rank does. The programs are ordinary MPI programs; those
/// that compare call PMPI_X for what MPI does by itself.
namespace nodeaware::test {

/// Else MPICH, or a relative, below the standard's binary interface, too.
inline bool is_open_mpi() {
    static const bool is = [] {
        char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        int length = 0;
        PMPI_Get_library_version(version, &length);
        return std::string_view(version).starts_with("Open MPI");
    }();
    return is;
}

class Harness {
  public:
    /// TEST_THREAD_MULTIPLE in the environment: that level, whatever the program needs.
    Harness(int* argc, char*** argv, int thread_level = MPI_THREAD_SINGLE) {
        int provided = 0;
        if (std::getenv("TEST_THREAD_MULTIPLE") != nullptr) { thread_level = MPI_THREAD_MULTIPLE; }
        MPI_Init_thread(argc, argv, thread_level, &provided);
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        PMPI_Comm_size(MPI_COMM_WORLD, &size_);
        if (provided < thread_level) { skip("this MPI does not support the thread level"); }
    }

    int rank() const { return rank_; }
    int size() const { return size_; }

    void expect(bool condition, const std::string& what) {
        if (condition) { return; }
        ++failures_;
        if (failures_ <= 5) { std::fprintf(stderr, "rank %d: %s\n", rank_, what.c_str()); }
    }

    int failures() const { return failures_; }

    /// Ends the program as skipped.
    [[noreturn]] void skip(const char* why) {
        if (rank_ == 0) { std::printf("skipped: %s\n", why); }
        MPI_Finalize();
        std::exit(77);
    }

    /// The exit status of the program; ends MPI.
    int finish() {
        int all = 0;
        PMPI_Allreduce(&failures_, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Finalize();
        if (rank_ == 0) { std::printf("%s: %d failures\n", all == 0 ? "passed" : "FAILED", all); }
        return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }

  private:
    int rank_ = 0;
    int size_ = 0;
    int failures_ = 0;
};

using Random = std::mt19937_64;

/// A random number from low to high, both included. Ranks with equal generators draw equal numbers.
inline int draw(Random& random, int low, int high) {
    return low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
}

} // namespace nodeaware::test
