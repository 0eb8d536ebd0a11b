#include "command_line.hpp"

#include "mpi_forms.hpp"
#include "program.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <string_view>

namespace bench {
namespace {

// CLI11 prints its help and its errors itself; only rank 0 may.
int explain_parse_result(const CLI::App& app, const CLI::ParseError& error, int rank) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = app.exit(error, out, err);
    if (rank == 0) {
        std::fputs(out.str().c_str(), stdout);
        std::fputs(err.str().c_str(), stderr);
    }
    return code == 0 ? exit_ok : exit_bad_input;
}

int parse_and_run(int argc, char** argv, CLI::App& app, const std::function<int(MPI_Comm)>& body,
                  MPI_Comm control, int rank) {
    try {
        app.parse(argc, argv);
        return body(control);
    } catch (const CLI::ParseError& error) {
        return explain_parse_result(app, error, rank);
    } catch (const InputError& error) {
        if (rank == 0) std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), error.what());
        return exit_bad_input;
    } catch (const std::exception& error) {
        // One rank alone (out of memory, say): the others would wait for it for ever.
        std::fprintf(stderr, "%s: rank %d: %s\n", app.get_name().c_str(), rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, 3);
        return 3;
    }
}

} // namespace

int run_program(int argc, char** argv, CLI::App& app, const std::function<int(MPI_Comm)>& body) {
    constexpr std::string_view multiple = "--thread-multiple";
    bool is_multiple =
        std::find(argv, argv + argc, multiple) != argv + argc; // nothing is parsed yet
    app.add_flag(std::string(multiple), is_multiple,
                 "Ask for MPI_THREAD_MULTIPLE, as mpi4py does; one thread calls MPI all the same");
    if (!is_multiple) {
        check(MPI_Init(&argc, &argv), "MPI_Init");
    } else {
        int provided = MPI_THREAD_SINGLE;
        check(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
    }
    int rank = 0;
    MPI_Comm control = MPI_COMM_NULL;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &control), "MPI_Comm_dup");
    const int status = parse_and_run(argc, argv, app, body, control, rank);
    std::fflush(stdout);
    check(MPI_Comm_free(&control), "MPI_Comm_free");
    check(MPI_Finalize(), "MPI_Finalize");
    return status;
}

int program_status(const std::function<int()>& body) {
    try {
        return body();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return exit_bad_input;
    }
}

} // namespace bench
