#include "solve.hpp"

#include "tools/bench/mpi_forms.hpp"
#include "tools/bench/program.hpp"
#include "tools/triangular/indices.hpp"

#include <algorithm>

namespace bench::sptrsv {
namespace {

// A tag says which supernode a message is of, and whether it is x(K) or a sum of row I.
int solution_tag(int supernode) { return 2 * supernode; }
int sum_tag(int supernode) { return 2 * supernode + 1; }

void expect_tags(int most, MPI_Comm comm) {
    int* largest = nullptr;
    int is_set = 0;
    check(MPI_Comm_get_attr(comm, MPI_TAG_UB, static_cast<void*>(&largest), &is_set),
          "MPI_Comm_get_attr");
    if (is_set == 0 || *largest < most) {
        throw InputError("there are more supernodes than this MPI has tags: expected tags up to " +
                         std::to_string(most) + ", found " +
                         (is_set == 0 ? "none" : std::to_string(*largest)));
    }
}

} // namespace

Solver::Solver(Supernodes supernodes, const Distribution& distribution, const Settings& settings,
               const nodeaware::Topology& topology, MPI_Comm comm)
    : supernodes_(std::move(supernodes)), settings_(settings), comm_(comm),
      columns_(at(supernodes_.count())), rows_(at(supernodes_.count())),
      solution_(at(supernodes_.first.back())), outbox_(settings.delays, topology, comm) {
    check(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
    expect_tags(sum_tag(supernodes_.count()), comm);
    for (int k = 0; k < supernodes_.count(); ++k) {
        widest_ = std::max(widest_, supernodes_.width(k));
        columns_[at(k)].is_mine = distribution.grid.owner(k, k) == rank_;
        if (!columns_[at(k)].is_mine) supernodes_.diagonals[at(k)] = {};
    }
    for (std::size_t i = 0; i < supernodes_.blocks.size(); ++i) {
        Block& block = supernodes_.blocks[i];
        if (distribution.grid.owner(block.row, block.column) == rank_) {
            columns_[at(block.column)].blocks.push_back(i);
            rows_[at(block.row)].blocks.push_back(i); // by columns, as the blocks are
        } else {
            block.values = {};
        }
    }
    read_trees(distribution);
    received_.resize(at(widest_));
}

void Solver::read_trees(const Distribution& distribution) {
    for (int k = 0; k < supernodes_.count(); ++k) {
        for (const Edge& edge : distribution.broadcasts[at(k)]) {
            if (edge.parent == rank_) columns_[at(k)].children.push_back(edge.child);
            if (edge.child == rank_) ++incoming_;
        }
        Row& row = rows_[at(k)];
        for (const Edge& edge : distribution.reductions[at(k)]) {
            if (edge.parent == rank_) row.children.push_back(edge.child);
            if (edge.child == rank_) row.parent = edge.parent;
        }
        std::sort(row.children.begin(), row.children.end());
        incoming_ += static_cast<int>(row.children.size());
        if (settings_.is_in_order) row.from_children.resize(row.children.size());
    }
}

void Solver::begin() {
    outbox_.forget_counts();
    std::fill(solution_.begin(), solution_.end(), 0);
    for (int i = 0; i < supernodes_.count(); ++i) {
        Row& row = rows_[at(i)];
        row.missing = static_cast<int>(row.blocks.size() + row.children.size());
        if (row.missing > 0) row.sum.assign(at(supernodes_.width(i)), 0);
    }
}

void Solver::solve(const std::vector<double>& right_side) {
    begin();
    right_side_ = &right_side;
    for (int k = 0; k < supernodes_.count(); ++k) {
        if (columns_[at(k)].is_mine && rows_[at(k)].missing == 0) complete_.push_back(k);
    }
    // What others wait for goes first: x before sums that are of use only with others.
    for (int outstanding = incoming_;;) {
        if (!known_.empty()) {
            const int k = known_.back();
            known_.pop_back();
            column_is_known(k);
        } else if (!complete_.empty()) {
            const int i = complete_.back();
            complete_.pop_back();
            row_is_complete(i);
        } else if (outstanding > 0) {
            receive();
            --outstanding;
        } else {
            break;
        }
    }
    outbox_.flush();
}

void Solver::row_is_complete(int supernode) {
    Row& row = rows_[at(supernode)];
    Column& column = columns_[at(supernode)];
    if (settings_.is_in_order) add_in_order(row);
    if (!column.is_mine) {
        outbox_.send(row.parent, sum_tag(supernode), row.sum);
        return;
    }
    const auto first = at(supernodes_.first[at(supernode)]);
    const std::size_t width = at(supernodes_.width(supernode));
    const std::vector<double>& diagonal = supernodes_.diagonals[at(supernode)];
    column.x.assign(right_side_->begin() + static_cast<std::ptrdiff_t>(first),
                    right_side_->begin() + static_cast<std::ptrdiff_t>(first + width));
    for (std::size_t i = 0; i < row.sum.size(); ++i) column.x[i] -= row.sum[i];
    for (std::size_t j = 0; j < width; ++j) {
        column.x[j] /= diagonal[j * width + j];
        for (std::size_t i = j + 1; i < width; ++i)
            column.x[i] -= diagonal[j * width + i] * column.x[j];
    }
    std::copy(column.x.begin(), column.x.end(),
              solution_.begin() + static_cast<std::ptrdiff_t>(first));
    known_.push_back(supernode);
}

void Solver::column_is_known(int supernode) {
    const Column& column = columns_[at(supernode)];
    for (const int child : column.children) outbox_.send(child, solution_tag(supernode), column.x);
    for (const std::size_t i : column.blocks) {
        const Block& block = supernodes_.blocks[i];
        if (!settings_.is_in_order) multiply(block, rows_[at(block.row)]);
        count_term(block.row);
    }
}

void Solver::multiply(const Block& block, Row& row) const {
    const std::vector<double>& x = columns_[at(block.column)].x;
    const double* values = block.values.data();
    for (const double factor : x) {
        for (const int i : block.rows) row.sum[at(i)] += *values++ * factor;
    }
}

void Solver::add_in_order(Row& row) const {
    for (const std::size_t i : row.blocks) multiply(supernodes_.blocks[i], row);
    for (const std::vector<double>& terms : row.from_children) {
        for (std::size_t i = 0; i < terms.size(); ++i) row.sum[i] += terms[i];
    }
}

void Solver::count_term(int supernode) {
    if (--rows_[at(supernode)].missing == 0) complete_.push_back(supernode);
}

void Solver::receive() {
    MPI_Status status;
    if (!outbox_.has_late()) {
        check(MPI_Recv(received_.data(), widest_, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm_,
                       &status),
              "MPI_Recv");
        take(status.MPI_SOURCE, status.MPI_TAG);
        return;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(received_.data(), widest_, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm_,
                    &request),
          "MPI_Irecv");
    constexpr double pause = 50e-6; // s
    for (int is_here = 0; is_here == 0;) {
        outbox_.progress();
        check(MPI_Test(&request, &is_here, &status), "MPI_Test");
        if (is_here == 0) sleep_until(now() + pause);
    }
    take(status.MPI_SOURCE, status.MPI_TAG);
}

void Solver::take(int source, int tag) {
    const int supernode = tag / 2;
    const auto end = received_.begin() + supernodes_.width(supernode);
    if (tag == solution_tag(supernode)) {
        columns_[at(supernode)].x.assign(received_.begin(), end);
        known_.push_back(supernode);
        return;
    }
    Row& row = rows_[at(supernode)];
    if (settings_.is_in_order) {
        const auto child = std::lower_bound(row.children.begin(), row.children.end(), source);
        row.from_children[at(static_cast<int>(child - row.children.begin()))].assign(
            received_.begin(), end);
    } else {
        for (std::size_t i = 0; i < row.sum.size(); ++i) row.sum[i] += received_[i];
    }
    count_term(supernode);
}

} // namespace bench::sptrsv
