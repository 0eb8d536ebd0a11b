// krylov_bench: times what Krylov solvers are made of, and five forms of conjugate gradients. It
// knows nothing of the library.
#include "command_line.hpp"
#include "grid.hpp"
#include "json_file.hpp"
#include "mpi_forms.hpp"
#include "program.hpp"
#include "tools/bench/krylov/output.hpp"

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace bench;

struct Options {
    std::vector<std::string> kernels;
    krylov::Settings settings;
    std::string grid;
    bool reorder = false;
    std::string json;
};

std::string complain_of_parts_of_doubles(const std::string& bytes) {
    return std::stoll(bytes) % 8 == 0 ? "" : bytes + " is not a multiple of 8";
}

void add_options(CLI::App& app, Options& options) {
    krylov::Settings& settings = options.settings;
    app.add_option("--kernel", options.kernels, "One or more; see below")
        ->required()
        ->delimiter(',')
        ->check(CLI::IsMember(krylov::kernel_names()));
    app.add_option("--bytes", settings.bytes, "What is summed, in doubles")
        ->check(CLI::Range(8, 1 << 30)) // so it is a number
        ->check(complain_of_parts_of_doubles)
        ->capture_default_str();
    app.add_option("--overlap", settings.overlap,
                   "Computation of iallreduce: so many times as long as a blocking sum takes")
        ->check(CLI::Range(0.0, 1000.0))
        ->capture_default_str();
    app.add_option("--cells", settings.cells, "Cells of a rank in each dimension")
        ->check(CLI::Range(1, 512))
        ->capture_default_str();
    app.add_option("--dimensions", settings.dimensions, "Of halo; solvers have 3")
        ->check(CLI::Range(1, 3))
        ->capture_default_str();
    app.add_option("--points", settings.points, "Of halo: 7, faces; 27, edges and corners, too")
        ->check(CLI::IsMember({7, 27}))
        ->capture_default_str();
    app.add_option("--grid", options.grid,
                   "Grid of ranks, such as 4x4x2 (default: as MPI_Dims_create makes it)");
    app.add_flag("--reorder", options.reorder,
                 "Ranks are those of a grid by MPI_Cart_create that may be reordered");
    app.add_option("--iterations", settings.iterations,
                   "Of a repeat (default: 20); of solvers at most (default: 500)")
        ->check(CLI::Range(1, 1000000));
    app.add_option("--repeats", settings.repeats, "Repeats; medians are taken over them")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    app.add_option("--warmup", settings.warmup, "Repeats before the first that counts")
        ->check(CLI::Range(0, 100000))
        ->capture_default_str();
    app.add_option("--json", options.json, "Write everything to this file");
    app.footer("Kernels:\n"
               "  allreduce   MPI_Allreduce\n"
               "  iallreduce  MPI_Iallreduce during computation, and that after MPI_Allreduce\n"
               "  halo        MPI_Irecv, MPI_Isend, MPI_Waitall with all neighbours on the grid\n"
               "  cg, sapcg, nbpcg, pipecg, pipe2cg\n"
               "              preconditioned conjugate gradients on the 27-point Poisson problem,\n"
               "              until the residual is 1e-8: 2 sums, 1 sum, 2 and 1 overlapped sums\n"
               "              an iteration, 1 in two iterations");
}

std::array<int, 3> grid_of_ranks(const Options& options, int ranks) {
    const auto dimensions = static_cast<std::size_t>(options.settings.dimensions);
    PatternOptions pattern;
    if (!options.grid.empty()) pattern.grid = parse_grid(options.grid, ranks);
    for (std::size_t d = dimensions; d < pattern.grid.size(); ++d) {
        if (pattern.grid[d] > 1) {
            throw InputError("--grid " + options.grid + ": has more than the " +
                             std::to_string(dimensions) + " of --dimensions");
        }
        pattern.grid[d] = 1;
    }
    return grid_of(pattern, ranks);
}

nlohmann::ordered_json describe_run(const Options& options, int ranks, int ranks_with_library) {
    const krylov::Settings& settings = options.settings;
    return {{"program", "krylov_bench"},
            {"mpi_library", mpi_library_version()},
            {"ranks", ranks},
            {"ranks_with_library", ranks_with_library},
            {"options",
             {{"kernel", options.kernels},
              {"bytes", settings.bytes},
              {"overlap", settings.overlap},
              {"cells", settings.cells},
              {"dimensions", settings.dimensions},
              {"points", settings.points},
              {"grid", settings.grid},
              {"reorder", options.reorder},
              {"iterations", settings.iterations},
              {"repeats", settings.repeats},
              {"warmup", settings.warmup}}},
            {"complete", false},
            {"cases", nlohmann::ordered_json::array()}};
}

// The file is written after every kernel, so that a run that is cut short leaves what it has
// measured.
void save(const Options& options, nlohmann::ordered_json& json, bool last, MPI_Comm comm) {
    if (options.json.empty()) return;
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    json["complete"] = last;
    const auto write = last ? write_json : write_unfinished_json;
    throw_everywhere(rank == 0 ? write(options.json, json) : "", comm);
}

int run(Options& options, MPI_Comm world) {
    int rank = 0;
    int ranks = 0;
    check(MPI_Comm_size(world, &ranks), "MPI_Comm_size");
    options.settings.grid = grid_of_ranks(options, ranks);
    std::optional<CartesianOrder> cart;
    PatternOptions pattern;
    pattern.grid = options.settings.grid;
    if (options.reorder) cart.emplace(world, pattern);
    MPI_Comm comm = cart ? cart->comm() : world;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    nlohmann::ordered_json json =
        describe_run(options, ranks, ranks_with_library("krylov_bench", false, comm));
    save(options, json, false, comm);
    const TextTable<krylov::Result> table = krylov::result_table();
    if (rank == 0) table.print_header();
    bool is_wrong = false;
    for (const std::string& kernel : options.kernels) {
        const krylov::Result result = krylov::measure(kernel, options.settings, comm);
        is_wrong |= result.is_wrong;
        if (rank == 0) table.print(result);
        json["cases"].push_back(to_json(result));
        save(options, json, &kernel == &options.kernels.back(), comm);
    }
    return is_wrong ? exit_wrong_data : exit_ok;
}

} // namespace

int main(int argc, char** argv) {
    return bench::program_status([&] {
        CLI::App app("Times sums, halo exchanges and conjugate gradients", "krylov_bench");
        Options options;
        add_options(app, options);
        return run_program(argc, argv, app, [&](MPI_Comm comm) { return run(options, comm); });
    });
}
