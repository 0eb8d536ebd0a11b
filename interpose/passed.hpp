#pragma once

#include "interpose/next.hpp"

#include <array>
#include <string_view>

/// Where collectives that are recorded and never rerouted have what they pass.
namespace nodeaware::interpose {

/// Positions of arguments in C; none: -1. The first is the buffer that is sent.
struct PassedAt {
    std::string_view name; ///< of the function, without MPI_, I and _c, and in lower case
    abi::Passed::To to;
    int count = -1;
    int type = -1;
    int root = -1;
    // Of what is received: where MPI_IN_PLACE may be in place of what is sent, whose count and
    // datatype are not read then.
    int received_count = -1;
    int received_type = -1;
    /// Of the counts one is for each rank.
    bool has_counts = false;
    bool has_received_counts = false;
};

inline constexpr std::array passed_at = {
    PassedAt{"bcast", abi::Passed::To::from_root, 1, 2, 3},
    PassedAt{"reduce", abi::Passed::To::root, 2, 3, 5},
    PassedAt{"allreduce", abi::Passed::To::all, 2, 3},
    PassedAt{"scan", abi::Passed::To::later, 2, 3},
    PassedAt{"exscan", abi::Passed::To::later, 2, 3},
    PassedAt{"reduce_scatter_block", abi::Passed::To::each, 2, 3},
    PassedAt{"reduce_scatter", abi::Passed::To::each, 2, 3, -1, -1, -1, true},
    PassedAt{"allgather", abi::Passed::To::all, 1, 2, -1, 4, 5},
    PassedAt{"allgatherv", abi::Passed::To::all, 1, 2, -1, 4, 6, false, true},
    PassedAt{"gather", abi::Passed::To::root, 1, 2, 6, 4, 5},
    PassedAt{"gatherv", abi::Passed::To::root, 1, 2, 7, 4, 6, false, true},
    PassedAt{"scatter", abi::Passed::To::from_root, 1, 2, 6},
    PassedAt{"scatterv", abi::Passed::To::each_from_root, 1, 3, 7, -1, -1, true},
};

constexpr bool has_large_counts(std::string_view name) { return name.ends_with("_c"); }

/// Of a function; one that passes nothing: To::nobody.
constexpr PassedAt passed_by(std::string_view name) {
    const auto lower = [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    };
    if (has_large_counts(name)) { name.remove_suffix(2); }
    if (name.size() > 1 && name[0] == 'I' && name[1] == lower(name[1])) { name.remove_prefix(1); }
    for (const PassedAt& known : passed_at) {
        const bool is_it = known.name.size() == name.size() &&
                           known.name.front() == lower(name.front()) &&
                           known.name.substr(1) == name.substr(1);
        if (is_it) { return known; }
    }
    return {"", abi::Passed::To::nobody};
}

/// Reads them. `Arguments` has count(), integer(), type(), array() and buffer() of a position.
template <class Arguments>
abi::Passed read_passed(const PassedAt& at, bool are_large, const Arguments& arguments) {
    const auto part = [&arguments](int count, int type, bool has_counts) {
        abi::Passed::Part read;
        if (count < 0) { return read; }
        if (has_counts) {
            read.counts = arguments.array(count);
        } else {
            read.count = arguments.count(count);
        }
        read.type = arguments.type(type);
        return read;
    };
    abi::Passed passed;
    passed.to = at.to;
    if (at.to == abi::Passed::To::nobody) { return passed; } // may have other arguments
    passed.buffer = arguments.buffer(0);
    passed.are_large = are_large;
    passed.sent = part(at.count, at.type, at.has_counts);
    passed.received = part(at.received_count, at.received_type, at.has_received_counts);
    if (at.root >= 0) { passed.root = arguments.integer(at.root); }
    return passed;
}

} // namespace nodeaware::interpose
