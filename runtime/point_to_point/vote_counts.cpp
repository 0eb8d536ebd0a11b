#include "runtime/point_to_point/vote_counts.hpp"

#include <array>

namespace nodeaware::vote_counts {

namespace {

constexpr auto reasons = static_cast<size_t>(Verdict::count);

constexpr std::array<std::string_view, reasons> notes_of_reasons = {
    "point-to-point: votes for MPI: hardly any messages between nodes",
    "point-to-point: votes for MPI: batches that do not repeat",
    "point-to-point: votes for MPI: receives with wildcards under way",
    "point-to-point: votes for MPI: messages under way",
    "point-to-point: votes for MPI: synchronous sends, and receives with wildcards that wait",
    "point-to-point: votes for MPI: windows of shared memory",
    "point-to-point: votes for MPI: thought to be faster so",
    "point-to-point: votes for MPI: no private communicator or shared memory",
    "point-to-point: communicators given back: slower",
    "point-to-point: communicators given back: other messages than learned, or too late",
    "point-to-point: communicators given back: synchronous sends, and receives with wildcards that "
    "wait",
};

struct Totals {
    uint64_t votes = 0;
    uint64_t taken_over = 0;
    uint64_t batches = 0;
    std::array<uint64_t, reasons> by_reason{};
    BatchEngine::Counts counts;
    Mailboxes::Counts mailboxes;
};
Totals totals;

} // namespace

std::string_view text_of(Verdict reason) {
    const std::string_view note = notes_of_reasons[static_cast<size_t>(reason)];
    return note.substr(note.rfind(": ") + 2);
}

void add_vote() { ++totals.votes; }
void add_taken_over() { ++totals.taken_over; }
void add(Verdict reason) { ++totals.by_reason[static_cast<size_t>(reason)]; }
void add_batches(uint64_t batches) { totals.batches += batches; }

void add(const BatchEngine::Counts& counts) {
    totals.counts.contributed += counts.contributed;
    totals.counts.direct += counts.direct;
    totals.counts.straight += counts.straight;
    totals.counts.unexpected += counts.unexpected;
    totals.counts.late += counts.late;
}

void add(const Mailboxes::Counts& counts) {
    totals.mailboxes.containers += counts.containers;
    totals.mailboxes.apart += counts.apart;
    totals.mailboxes.overdue += counts.overdue;
    totals.mailboxes.again += counts.again;
}

std::vector<Report::Note> notes() {
    const BatchEngine::Counts& counts = totals.counts;
    std::vector<Report::Note> notes = {
        {"point-to-point: votes on communicators", totals.votes},
        {"point-to-point: communicators taken over", totals.taken_over},
        {"point-to-point: batches in them", totals.batches},
        {"point-to-point: messages between nodes in containers", counts.contributed},
        {"point-to-point: messages between nodes by themselves", counts.direct},
        {"point-to-point: of these large ones, without a copy", counts.straight},
        {"point-to-point: by themselves, not as learned or too late", counts.unexpected},
        {"point-to-point: containers between nodes", totals.mailboxes.containers},
        {"point-to-point: containers between two ranks", totals.mailboxes.apart},
        {"point-to-point: containers that left at the time limit", totals.mailboxes.overdue},
        {"point-to-point: containers sent once more", totals.mailboxes.again}};
    for (size_t i = 0; i < reasons; ++i) {
        notes.push_back({notes_of_reasons[i], totals.by_reason[i]});
    }
    return notes;
}

} // namespace nodeaware::vote_counts
