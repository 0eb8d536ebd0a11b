#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace nodeaware::simulation {

/// What is to be simulated, as it stands on the command line of `nodeaware simulate`, and of the
/// program that this starts.
struct Options {
    std::string table = "lassen-spectrum";
    int nodes = 4;
    int ranks_per_node = 4;
    std::vector<std::string> patterns;
    bool has_fixed_sizes = false;
    bool is_periodic = false;
    std::string operation = "alltoallv";
    std::vector<std::string> ways; ///< empty: all
    int calls = 1;
    int calls_before = 2; ///< at the second one the ranks may agree on more
    int calls_of_auto = 60;
    double sender_share = 0.4;
    double receiver_share = 0.2;
    int jobs = 1;
    std::string json; ///< file; empty: none
};

void add_options(CLI::App& app, Options& options);
/// The command line that says the same.
std::vector<std::string> words_of(const Options& options);
/// All ways: natively, by each strategy, and as the library chooses.
std::vector<std::string> all_ways();

} // namespace nodeaware::simulation
