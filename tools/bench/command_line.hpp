// The start and the end that all programs share.
#pragma once

#include <CLI/CLI.hpp>
#include <mpi.h>

#include <functional>

namespace bench {

// Initializes MPI, parses the command line, runs `body`, finalizes MPI; returns the exit status.
// `body` gets a duplicate of MPI_COMM_WORLD for everything that is not measured.
int run_program(int argc, char** argv, CLI::App& app, const std::function<int(MPI_Comm)>& body);

// What main() returns: prints what `body` throws before MPI_Init. Later errors are run_program()'s.
int program_status(const std::function<int()>& body);

} // namespace bench
