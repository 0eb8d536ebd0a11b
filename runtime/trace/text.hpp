#pragma once

#include "runtime/trace/contents.hpp"

#include <string>
#include <vector>

namespace nodeaware::trace {

/// Of the files, see runtime/trace/README.md. A reader refuses others.
inline constexpr int format_version = 1;

/// Whose file it is.
struct Header {
    std::string job; ///< names the job; the same in all files of a trace
    int rank = 0;
    int ranks = 1;
    int node = 0;
    std::string host;
    double clock = 0; ///< the host's clock when the trace began (seconds)
};

/// Calls of one operation that travelled in the same way.
struct Way {
    std::string_view operation;
    std::string_view strategy; ///< "native" where they were left to MPI
    std::string_view reason;   ///< why, or "rerouted"
    uint64_t calls = 0;
    uint64_t sent_messages = 0; ///< to other nodes
    uint64_t sent_bytes = 0;
    std::vector<uint64_t> device; ///< DeviceCounts::values(), or nothing
};

/// A rank's file as text: one JSON object in each line, the last of which tells that it is all
/// there. `now`: when it is written; `is_complete`: the job has come to its end.
std::string text_of(const Header& header, const Contents& contents, const std::vector<Way>& ways,
                    Nanoseconds now, bool is_complete);

} // namespace nodeaware::trace
