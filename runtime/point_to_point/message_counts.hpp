#pragma once

#include "runtime/job/report.hpp"
#include "runtime/point_to_point/batch_engine.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

/// What has become of the point-to-point messages of this process, for the report.
namespace nodeaware::message_counts {

/// Why batches were not proposed to be handed over, or were given back.
enum class Verdict {
    no_repetition,
    few_messages,
    few_together,
    not_worth_it,
    one_machine,
    shared_memory,
    several_threads,
    left_for_good, ///< of a rank
    no_memory,
    unknown_communicator,
    returned_slower,
    returned_risky,
    compared,
    count
};
std::string_view text_of(Verdict reason);

/// Of one communicator, on this rank.
void add(Verdict reason);
/// An engine has ended.
void add(const BatchEngine::Counts& counts);
/// At the end.
void add(const Mailboxes::Counts& counts);

std::vector<Report::Note> notes();

} // namespace nodeaware::message_counts
