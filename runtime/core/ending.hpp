#pragma once

#include "runtime/job/report.hpp"
#include "runtime/report/facts.hpp"

#include <optional>
#include <vector>

/// What is written when the program ends: the report, and where it ends otherwise than by
/// MPI_Finalize the trace.
namespace nodeaware::ending {

/// When the recorder has been opened. Local. Warns of a file that cannot be written; where settings
/// are strict, rank 0 throws BadSettings after that.
void open();

/// The process ends by MPI_Abort, or by exit() without MPI_Finalize, which may be in any state:
/// other threads go on, and nothing of MPI can be called. Writes the trace of this rank and, where
/// it aborts or is rank 0, its report. Throws nothing, and never waits for long.
void ended(bool aborts);

/// At the beginning of MPI_Finalize: none of the above from now on. Returns what has been recorded,
/// if anything.
std::optional<report::Times> finalizing();
/// The report of all ranks, by rank 0. Collective over MPI_COMM_WORLD. Throws MpiError.
void close(const std::optional<report::Times>& times, std::vector<Report::Note> notes);

} // namespace nodeaware::ending
