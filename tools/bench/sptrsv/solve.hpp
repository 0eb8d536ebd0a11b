// L x = b over MPI, driven by messages: a rank does what the next one that comes makes possible.
#pragma once

#include "outbox.hpp"
#include "tools/triangular/distribution.hpp"

#include <mpi.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace bench::sptrsv {

// Algorithm 1 of the paper without its GPUs: whoever owns L(K, K) computes x(K) once all of
// its sum is there, and sends it down the tree of the column; whoever has x(K) adds L(I, K) x(K)
// for its blocks to its sum of row I, and sends that up the tree of the row when it is complete.
// Messages are taken by MPI_ANY_SOURCE and MPI_ANY_TAG as they come.
class Solver {
  public:
    struct Settings {
        // Terms are added in the order of ranks and columns, whatever comes first: always the same
        // bits.
        bool is_in_order = false;
        Delays delays;
    };

    // All ranks of `comm` with the same arguments; values of others' blocks are let go.
    Solver(Supernodes supernodes, const Distribution& distribution, const Settings& settings,
           const nodeaware::Topology& topology, MPI_Comm comm);

    // Collective; `right_side` is all of b, on every rank. Ranks must have met since the last
    // solve.
    void solve(const std::vector<double>& right_side);

    // What this rank has computed of x, zero elsewhere.
    const std::vector<double>& solution() const { return solution_; }
    // What it has sent in the last solve.
    const MessageCounts& sent() const { return outbox_.sent(); }

  private:
    struct Column {
        std::vector<int> children;
        std::vector<std::size_t> blocks; // this rank's in this column
        bool is_mine = false;            // L(K, K) is here
        std::vector<double> x;
    };
    struct Row {
        int parent = -1; // -1: the root, or not in the tree
        std::vector<int> children;
        std::vector<std::size_t> blocks; // this rank's in this row
        int missing = 0;                 // terms that are not in the sum yet
        std::vector<double> sum;
        std::vector<std::vector<double>> from_children; // where terms are kept until all are there
    };

    void read_trees(const Distribution& distribution);
    void begin();
    void row_is_complete(int supernode);
    void column_is_known(int supernode);
    void multiply(const Block& block, Row& row) const;
    void add_in_order(Row& row) const;
    void count_term(int supernode);
    void receive();
    void take(int source, int tag);

    Supernodes supernodes_;
    Settings settings_;
    MPI_Comm comm_;
    int rank_ = 0;
    std::vector<Column> columns_;
    std::vector<Row> rows_;
    int incoming_ = 0; // messages of a solve
    int widest_ = 0;
    const std::vector<double>* right_side_ = nullptr;
    std::vector<double> solution_;
    std::vector<int> complete_; // rows, and
    std::vector<int> known_;    // columns, whose consequences are to be drawn
    std::vector<double> received_;
    Outbox outbox_;
};

} // namespace bench::sptrsv
