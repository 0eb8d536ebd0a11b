// Algorithm 1 of the paper: what one block of a virtual GPU does in SOLVE and in WAIT. A put is
// stores into memory of another virtual GPU, a fence, and a flag, as NVSHMEM's are.
//
// `Team` is the threads of a block: thread(), threads(), barrier(), and memory that they share,
// scratch() and notes().
#pragma once

#include "machine.hpp"
#include "primitives.hpp"

namespace bench::sptrsv_gpu {

// No block waits for ever: after a defect all leave, so that the device is free again.
class Patience {
  public:
    SPTRSV_ON_DEVICE explicit Patience(const Machine& machine)
        : machine_(machine), end_(nanoseconds() + machine.limit) {}

    // To be asked after each look in vain; the time, and whether others have failed, only now and
    // then.
    SPTRSV_ON_DEVICE bool is_over() {
        pause();
        if (++looks_ % 64 != 0) return false;
        return peek(&machine_.failure->what) != nothing || nanoseconds() > end_;
    }

    SPTRSV_ON_DEVICE void tell(Awaited what, int gpu, int supernode) const {
        if (!claim(&machine_.failure->what, what)) return;
        machine_.failure->gpu = gpu;
        machine_.failure->supernode = supernode;
    }

  private:
    const Machine& machine_;
    std::uint64_t end_;
    unsigned looks_ = 0;
};

// The last of a put, by one thread.
SPTRSV_ON_DEVICE void put_flag(const Machine& m, int gpu, int* flag) {
    const int number = take_next(m.puts + gpu);
    if (m.lost >= 0 && number == m.lost) return;
    release(flag, 1);
}

// By one thread, as in the paper: one term of a row is there, and if it was the last, the sum goes
// up the tree. Where L(I, I) is, a block of SOLVE waits for that.
SPTRSV_ON_DEVICE void count_term(const Machine& m, int gpu, int index) {
    if (!count_down(m.missing + index)) return;
    const Row& row = m.rows[index];
    if (row.parent_slot < 0) return;
    double* const to = m.ready_sums + m.slots[row.parent_slot].values;
    for (int i = 0; i < row.width; ++i) to[i] = fresh(m.sums + row.sum + i);
    put_flag(m, gpu, m.flag_sums + row.parent_slot);
}

// x(K) = L(K, K)^-1 (b(K) - lsum(K)), into the team's scratch and the solution.
template <class Team>
SPTRSV_ON_DEVICE void solve_diagonal(Team& team, const Machine& m, const Column& column) {
    double* const x = team.scratch();
    double* const rest = x + m.widest;
    const double* diagonal = rest + m.widest;
    const int width = column.width;
    const int sum = m.rows[column.row].sum;
    for (int i = team.thread(); i < width; i += team.threads())
        rest[i] = m.right_side[column.first + i] - fresh(m.sums + sum + i);
    team.barrier();
    for (int j = 0; j < width; ++j) {
        const double value = rest[j] * diagonal[0];
        if (team.thread() == 0) x[j] = value;
        for (int i = j + 1 + team.thread(); i < width; i += team.threads())
            rest[i] -= diagonal[i - j] * value;
        diagonal += width - j;
        team.barrier();
    }
    for (int i = team.thread(); i < width; i += team.threads()) m.solution[column.first + i] = x[i];
}

template <class Team>
SPTRSV_ON_DEVICE void read_solution(Team& team, const Machine& m, const Column& column) {
    double* const x = team.scratch();
    for (int i = team.thread(); i < column.width; i += team.threads())
        x[i] = fresh(m.ready_x + column.x + i);
    team.barrier();
}

// Down the tree of the column, by all threads.
template <class Team>
SPTRSV_ON_DEVICE void put_solution(Team& team, const Machine& m, int gpu, const Column& column) {
    const int first = column.children[0];
    const int last = column.children[1];
    if (first == last) return;
    const double* const x = team.scratch();
    for (int child = first; child < last; ++child) {
        double* const to = m.ready_x + m.columns[m.children[child]].x;
        for (int i = team.thread(); i < column.width; i += team.threads()) to[i] = x[i];
    }
    team.barrier();
    for (int child = first + team.thread(); child < last; child += team.threads())
        put_flag(m, gpu, m.flag_x + m.children[child]);
}

// lsum(I) += L(I, K) x(K) for all I. Threads take rows, or parts of rows where there are few.
template <class Team>
SPTRSV_ON_DEVICE void multiply(Team& team, const Machine& m, const Column& column) {
    const double* const x = team.scratch();
    const double* const panel = m.panels + column.panel;
    const int rows = column.panel_rows;
    if (rows == 0) return;
    int parts = team.threads() / rows;
    parts = parts < 1 ? 1 : parts > column.width ? column.width : parts;
    for (int i = team.thread(); i < rows * parts; i += team.threads()) {
        const int row = i % rows;
        double sum = 0;
        for (int j = i / rows; j < column.width; j += parts)
            sum += panel[static_cast<std::int64_t>(j) * rows + row] * x[j];
        add(m.sums + m.targets[column.targets + row], sum);
    }
}

// Until x(K), or what it is computed from, is there; by one thread.
SPTRSV_ON_DEVICE bool wait_for_column(Patience& patience, const Machine& m, int gpu, int index) {
    const Column& column = m.columns[index];
    int* const word = column.is_diagonal != 0 ? m.missing + column.row : m.arrived + index;
    const int wanted = column.is_diagonal != 0 ? 0 : 1;
    while (!acquired(word, wanted)) {
        if (patience.is_over()) {
            patience.tell(column.is_diagonal != 0 ? awaited_terms : awaited_arrival, gpu,
                          column.supernode);
            return false;
        }
    }
    return true;
}

// One block of SOLVE: takes one column after the other, in ascending order. Whatever column is the
// lowest that is not complete, all that it waits for is, and some block has taken it: so blocks may
// be fewer than columns, if all of them run at the same time.
template <class Team> SPTRSV_ON_DEVICE void solve_block(Team& team, const Machine& m, int gpu) {
    Patience patience(m);
    Notes& notes = team.notes();
    double* const diagonal = team.scratch() + 2 * m.widest;
    for (;;) {
        if (team.thread() == 0) notes.column = m.column_begin[gpu] + take_next(m.tickets + gpu);
        team.barrier();
        const int index = notes.column;
        if (index >= m.column_begin[gpu + 1]) return;
        const Column& column = m.columns[index];
        if (column.is_diagonal != 0) { // before it is needed
            for (int i = team.thread(); i < packed_size(column.width); i += team.threads())
                diagonal[i] = m.diagonals[column.diagonal + i];
        }
        if (team.thread() == 0) notes.is_here = wait_for_column(patience, m, gpu, index) ? 1 : 0;
        team.barrier();
        if (notes.is_here == 0) return;
        if (column.is_diagonal != 0) {
            solve_diagonal(team, m, column);
        } else {
            read_solution(team, m, column);
        }
        put_solution(team, m, gpu, column);
        multiply(team, m, column);
        team.barrier();
        for (int i = column.blocks[0] + team.thread(); i < column.blocks[1]; i += team.threads())
            count_term(m, gpu, m.block_rows[i]);
    }
}

// The block of WAIT for broadcasts: tells SOLVE which x(K) have arrived. Each thread has its part
// of them (Figure 2 of the paper).
template <class Team> SPTRSV_ON_DEVICE void wait_for_x(Team& team, const Machine& m, int gpu) {
    Patience patience(m);
    const int end = m.awaited_begin[gpu + 1];
    for (int first = m.awaited_begin[gpu] + team.thread(); first < end;) {
        for (int i = first; i < end; i += team.threads()) {
            const int index = m.awaited[i];
            if (peek(m.arrived + index) == 0 && acquired(m.flag_x + index, 1))
                release(m.arrived + index, 1);
        }
        while (first < end && peek(m.arrived + m.awaited[first]) != 0) first += team.threads();
        if (first < end && patience.is_over()) {
            patience.tell(awaited_x, gpu, m.columns[m.awaited[first]].supernode);
            return;
        }
    }
}

// The block of WAIT for reductions: adds sums that arrive to those here.
template <class Team> SPTRSV_ON_DEVICE void wait_for_sums(Team& team, const Machine& m, int gpu) {
    Patience patience(m);
    const int end = m.slot_begin[gpu + 1];
    for (int first = m.slot_begin[gpu] + team.thread(); first < end;) {
        for (int i = first; i < end; i += team.threads()) {
            if (!acquired(m.flag_sums + i, 1)) continue;
            const Slot& slot = m.slots[i];
            const Row& row = m.rows[slot.row];
            for (int j = 0; j < row.width; ++j)
                add(m.sums + row.sum + j, fresh(m.ready_sums + slot.values + j));
            release(m.flag_sums + i, 2);
            count_term(m, gpu, slot.row);
        }
        while (first < end && peek(m.flag_sums + first) == 2) first += team.threads();
        if (first < end && patience.is_over()) {
            patience.tell(awaited_sum, gpu, m.rows[m.slots[first].row].supernode);
            return;
        }
    }
}

// Blocks of WAIT of each virtual GPU.
constexpr int wait_blocks = 2;

template <class Team>
SPTRSV_ON_DEVICE void wait_block(Team& team, const Machine& m, int gpu, int block) {
    if (block == 0) {
        wait_for_x(team, m, gpu);
    } else {
        wait_for_sums(team, m, gpu);
    }
}

} // namespace bench::sptrsv_gpu
