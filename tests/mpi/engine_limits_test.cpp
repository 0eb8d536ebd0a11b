// engine_limits_test flood|ahead|slow|... [COUNT]
//
// What a program may ask of point-to-point messages that the library moves: floods of small ones,
// large ones to a receiver that is slow or away in MPI, senders that leave MPI. First all ranks
// repeat an exchange until its batches are taken over, then comes the case. Where memory counts the
// same is done by MPI alone, for comparison; times are printed only.

#include "tests/mpi/engine_limits_file.hpp"
#include "tests/mpi/engine_limits_huge.hpp"
#include "tests/mpi/engine_limits_large.hpp"
#include "tests/mpi/engine_limits_outside.hpp"
#include "tests/mpi/engine_limits_refused.hpp"
#include "tests/mpi/engine_limits_synchronous.hpp"
#include "tests/mpi/engine_limits_waiting.hpp"

namespace nodeaware::test {

namespace {

struct Case {
    const char* name;
    void (*run)(Program& program, int count);
    int count;
};

constexpr Case cases[] = {
    {"flood", flood, 100000},     {"ahead", run_ahead, 50000}, {"slow", slow_consumer, 300},
    {"begun", begun, 1500},       {"large", large, 0},         {"far_ahead", far_ahead, 1300},
    {"outside", outside, 0},      {"huge", huge, 0},           {"synchronous", synchronous, 60},
    {"sleeper", sleeper, 100000}, {"refused", refused, 0},     {"file", file, 0},
    {"waiting", waiting, 300},    {"limited", limited, 64},    {"many_tags", many_tags, 20000},
};

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    const std::string wanted = argc > 1 ? argv[1] : "";
    for (const Case& one : cases) {
        if (wanted != one.name) { continue; }
        Program program(harness);
        program.learn(MPI_COMM_WORLD);
        one.run(program, argc > 2 ? std::atoi(argv[2]) : one.count);
        program.close();
        return harness.finish();
    }
    harness.expect(false, "no such case");
    return harness.finish();
}
