#include "runtime/mpi/hidden_errors.hpp"

#include <algorithm>
#include <charconv>

namespace nodeaware::hidden_errors {

namespace {

/// As MPI has them.
Mpi hiding;

thread_local uint64_t times_told = 0;
thread_local int last_told = MPI_SUCCESS;
thread_local uint64_t times_met = 0;

template <auto member, class Pointer> struct Uncovered;
template <auto member, class... Parameters> struct Uncovered<member, int (*)(Parameters...)> {
    static int call(Parameters... arguments) {
        const uint64_t before = times_told;
        const int code = (hiding.*member)(arguments...);
        if (code != MPI_SUCCESS || times_told == before) { return code; }
        times_told = before; // not the error of a call that this one is part of
        ++times_met;
        return last_told;
    }
};

} // namespace

bool are_with(std::string_view version) {
    constexpr std::string_view name = "MPICH Version:";
    if (!version.starts_with(name)) { return false; }
    version.remove_prefix(name.size());
    version.remove_prefix(std::min(version.find_first_of("0123456789"), version.size()));
    int major = 0;
    int minor = 0;
    const char* const end = version.data() + version.size();
    const auto after = std::from_chars(version.data(), end, major);
    if (after.ec != std::errc() || after.ptr == end || *after.ptr != '.') { return false; }
    std::from_chars(after.ptr + 1, end, minor);
    return major > 4 || (major == 4 && minor >= 3);
}

void uncover(Mpi& table) {
    hiding = table;
#define X(name)                                                                                    \
    if (hiding.name != nullptr) { table.name = Uncovered<&Mpi::name, decltype(table.name)>::call; }
    NODEAWARE_MPI_FUNCTIONS(X)
#ifdef NODEAWARE_MPI_LARGE_COUNTS
    NODEAWARE_MPI_LARGE_FUNCTIONS(X)
#endif
#undef X
    table.Comm_call_errhandler = hiding.Comm_call_errhandler; // is right to return success
}

void told(int code) {
    ++times_told;
    last_told = code;
}

uint64_t met() { return times_met; }

} // namespace nodeaware::hidden_errors
