#include "runtime/point_to_point/message_counts.hpp"

#include <array>

namespace nodeaware::message_counts {

namespace {

constexpr auto reasons = static_cast<size_t>(Verdict::count);

constexpr std::array<std::string_view, reasons> notes_of_reasons = {
    "point-to-point: left to MPI: batches that do not repeat",
    "point-to-point: left to MPI: hardly any messages between nodes",
    "point-to-point: left to MPI: sent at different times",
    "point-to-point: left to MPI: thought to be faster so",
    "point-to-point: left to MPI: one machine has all nodes",
    "point-to-point: left to MPI: windows of shared memory",
    "point-to-point: left to MPI: several threads send and receive",
    "point-to-point: ranks that left all calls to MPI: several threads send and receive",
    "point-to-point: left to MPI: no private communicator or shared memory",
    "point-to-point: left to MPI: communicators made in ways that are not followed",
    "point-to-point: given back: slower",
    "point-to-point: given back: synchronous sends, and receives with wildcards that wait",
    "point-to-point: given back: for a while, to compare",
};

struct Totals {
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

void add(Verdict reason) { ++totals.by_reason[static_cast<size_t>(reason)]; }

void add(const BatchEngine::Counts& counts) {
    totals.counts.contributed += counts.contributed;
    totals.counts.direct += counts.direct;
    totals.counts.straight += counts.straight;
    totals.counts.unexpected += counts.unexpected;
    totals.counts.late += counts.late;
    totals.counts.proposed += counts.proposed;
    totals.counts.declined += counts.declined;
    totals.counts.given_up += counts.given_up;
    totals.counts.handed_over += counts.handed_over;
    totals.counts.returned += counts.returned;
}

void add(const Mailboxes::Counts& counts) {
    totals.mailboxes.containers += counts.containers;
    totals.mailboxes.apart += counts.apart;
    totals.mailboxes.overdue += counts.overdue;
    totals.mailboxes.again += counts.again;
    totals.mailboxes.moved += counts.moved;
}

std::vector<Report::Note> notes() {
    const BatchEngine::Counts& counts = totals.counts;
    std::vector<Report::Note> notes = {
        {"point-to-point: connections proposed to be handed over", counts.proposed},
        {"point-to-point: connections handed over", counts.handed_over},
        {"point-to-point: connections declined by their receivers", counts.declined},
        {"point-to-point: connections with receives that other messages go to", counts.given_up},
        {"point-to-point: connections given back", counts.returned},
        {"point-to-point: messages between nodes in containers", counts.contributed},
        {"point-to-point: messages between nodes by themselves", counts.direct},
        {"point-to-point: of these large ones, without a copy", counts.straight},
        {"point-to-point: by themselves, not as learned", counts.unexpected},
        {"point-to-point: in containers, left at the time limit", counts.late},
        {"containers: between two nodes", totals.mailboxes.containers},
        {"containers: between two ranks", totals.mailboxes.apart},
        {"containers: that left at the time limit", totals.mailboxes.overdue},
        {"containers: sent once more", totals.mailboxes.again},
        {"containers: parts moved out of the way of others", totals.mailboxes.moved}};
    for (size_t i = 0; i < reasons; ++i) {
        notes.push_back({notes_of_reasons[i], totals.by_reason[i]});
    }
    return notes;
}

} // namespace nodeaware::message_counts
