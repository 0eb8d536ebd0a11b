// conformance --transcripts FOLDER [--phases before,after] [--only PATTERN] [--from NUMBER]
//             [--without=NUMBER]... [--left-out FILE] [--patience SECONDS] [--list]
//
// Error and edge cases, of which each rank writes what it sees to FOLDER/RANK: return codes, calls
// of error handlers, statuses, data. It is an ordinary MPI program; `compare` runs it with and
// without the library. In the phase "after" the communicators have been given the chance to be
// taken over before the cases begin. A case that takes longer than the patience ends the job.

#include "tests/mpi/conformance/runner.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using nodeaware::conformance::Wishes;

[[noreturn]] void explain_use() {
    std::fprintf(stderr, "usage: conformance --transcripts FOLDER [--phases before,after] [--only "
                         "PATTERN] [--from NUMBER] [--left-out FILE] [--patience SECONDS] "
                         "[--list]\n");
    std::exit(2);
}

Wishes read_arguments(int argc, char** argv) {
    Wishes wishes;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        if (option == "--list") {
            wishes.only_lists = true;
            continue;
        }
        if (option.rfind("--without=", 0) == 0) {
            wishes.without.insert(std::atoi(option.c_str() + option.find('=') + 1));
            continue;
        }
        if (++i == argc) { explain_use(); }
        if (option == "--transcripts") {
            wishes.folder = argv[i];
        } else if (option == "--phases") {
            wishes.before = std::strstr(argv[i], "before") != nullptr;
            wishes.after = std::strstr(argv[i], "after") != nullptr;
        } else if (option == "--only") {
            wishes.only = argv[i];
        } else if (option == "--from") {
            wishes.from = std::atoi(argv[i]);
        } else if (option == "--left-out") {
            wishes.left_out = argv[i];
        } else if (option == "--patience") {
            wishes.patience = static_cast<unsigned>(std::atoi(argv[i]));
        } else {
            explain_use();
        }
    }
    if (wishes.folder.empty() && !wishes.only_lists) { explain_use(); }
    return wishes;
}

} // namespace

int main(int argc, char** argv) {
    using namespace nodeaware::conformance;
    MPI_Init(&argc, &argv);
    const Wishes wishes = read_arguments(argc, argv);
    Cases cases;
    for (const auto add : {add_message_arguments,
                           add_combined_arguments,
                           add_truncation,
                           add_truncation_of_lists,
                           add_completion,
                           add_completion_errors,
                           add_cancelling,
                           add_lifetimes,
                           add_sending,
                           add_receiving,
                           add_matched,
                           add_persistent,
                           add_message_types,
                           add_generalized,
                           add_exchange_arguments,
                           add_exchange_alone,
                           add_exchange_data,
                           add_exchange_truncation,
                           add_exchange_places,
                           add_meetings,
                           add_blocking,
                           add_communicators}) {
        add(cases);
    }
    {
        Runner runner(wishes);
        runner.run(cases);
        runner.close();
    }
    return EXIT_SUCCESS;
}
