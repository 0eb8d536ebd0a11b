#include "tools/nodeaware/trace/matrix.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

namespace nodeaware::tool {

namespace {

using Row = SentRows::value_type;

/// The row, and column, of each rank.
std::vector<size_t> numbers_of(const Trace& trace, Between between, size_t& count) {
    std::vector<size_t> numbers(trace.nodes.size());
    const std::set<int> nodes(trace.nodes.begin(), trace.nodes.end());
    for (size_t rank = 0; rank < numbers.size(); ++rank) {
        const auto node = nodes.find(trace.nodes[rank]);
        numbers[rank] = between == Between::ranks
                            ? rank
                            : static_cast<size_t>(std::distance(nodes.begin(), node));
    }
    count = between == Between::ranks ? numbers.size() : nodes.size();
    return numbers;
}

class Matrix {
  public:
    Matrix(const Trace& trace, MatrixOf of, Between between)
        : of_(of), numbers_(numbers_of(trace, between, size_)), rows_(size_) {
        for (const RankTrace& rank : trace.ranks) { add(rank); }
    }

    SentRows take() { return std::move(rows_); }

  private:
    void add(const RankTrace& rank) {
        Row& row = rows_[numbers_[static_cast<size_t>(rank.rank)]];
        std::map<int, uint64_t> to_each; // by communicator
        for (const TracedPattern& pattern : rank.patterns) {
            if (pattern.communicator < 0) { continue; }
            for (const auto& [peer, bytes] : pattern.to) {
                if (bytes == 0) { continue; }
                const uint64_t value = pattern.calls * (of_ == MatrixOf::bytes ? bytes : 1);
                if (peer < 0) {
                    to_each[pattern.communicator] += value;
                } else {
                    add(row, rank, pattern.communicator, peer, value);
                }
            }
        }
        for (const auto& [communicator, value] : to_each) {
            const int size = rank.communicators[static_cast<size_t>(communicator)].size;
            for (int peer = 0; peer < size; ++peer) { add(row, rank, communicator, peer, value); }
        }
        for (const TracedSends& sends : rank.sends) {
            for (const SizeClass& part : sends.sizes) {
                const uint64_t value = of_ == MatrixOf::bytes ? part.bytes : part.messages;
                add(row, rank, sends.communicator, sends.peer, value);
            }
        }
    }

    void add(Row& row, const RankTrace& rank, int communicator, int peer, uint64_t value) const {
        const auto& members = rank.communicators[static_cast<size_t>(communicator)].members;
        const int to = members[static_cast<size_t>(peer)];
        if (to >= 0 && value > 0) { row[numbers_[static_cast<size_t>(to)]] += value; }
    }

    MatrixOf of_;
    size_t size_ = 0;
    std::vector<size_t> numbers_;
    SentRows rows_;
};

void write_rows(std::ostream& out, const SentRows& rows) {
    size_t entries = 0;
    for (const Row& row : rows) { entries += row.size(); }
    out << rows.size() << " " << rows.size() << " " << entries << "\n";
    for (size_t from = 0; from < rows.size(); ++from) {
        for (const auto& [to, value] : rows[from]) {
            out << from + 1 << " " << to + 1 << " " << value << "\n";
        }
    }
}

} // namespace

SentRows sent_rows(const Trace& trace, MatrixOf of, Between between) {
    return Matrix(trace, of, between).take();
}

void write_matrix(std::ostream& out, const Trace& trace, MatrixOf of, Between between) {
    const char* const what = between == Between::ranks ? "rank" : "node";
    out << "%%MatrixMarket matrix coordinate real general\n% "
        << (of == MatrixOf::bytes ? "Bytes" : "Messages") << " that " << what
        << " ROW - 1 has sent to " << what << " COLUMN - 1\n";
    if (trace.ranks.size() < trace.nodes.size()) {
        out << "% " << trace.nodes.size() - trace.ranks.size() << " of " << trace.nodes.size()
            << " ranks could not be read and are missing\n";
    }
    const bool is_cut = std::any_of(trace.ranks.begin(), trace.ranks.end(),
                                    [](const RankTrace& rank) { return rank.is_cut; });
    if (is_cut) { out << "% Some of it had no room in the trace, and is missing\n"; }
    write_rows(out, sent_rows(trace, of, between));
}

} // namespace nodeaware::tool
