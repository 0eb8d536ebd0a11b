#pragma once

#include "runtime/job/report.hpp"
#include "runtime/point_to_point/batch_engine.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

/// What has become of the point-to-point messages of this process, for the report.
namespace nodeaware::vote_counts {

/// Why a vote left a communicator to MPI, or gave it back.
enum class Verdict {
    few_messages,
    no_repetition,
    waiting_wildcards,
    under_way,
    risky,
    shared_memory,
    not_worth_it,
    no_memory,
    returned_slower,
    returned_otherwise,
    returned_risky,
    count
};
std::string_view text_of(Verdict reason);

// Each is counted by one rank, that all say the same.
void add_vote();
void add_taken_over();
void add(Verdict reason);

/// Batches of this rank that the library has taken over.
void add_batches(uint64_t batches);
/// An engine has ended.
void add(const BatchEngine::Counts& counts);
/// At the end.
void add(const Mailboxes::Counts& counts);

std::vector<Report::Note> notes();

} // namespace nodeaware::vote_counts
