// What all blocks of all virtual GPUs see of a solve: who has what, and what they tell each other.
// Plain pointers, into memory of the host or of a device.
#pragma once

#include <cstdint>

namespace bench::sptrsv_gpu {

// Of supernode K on one virtual GPU, which has L(K, K) or some L(I, K).
struct Column {
    std::int64_t diagonal = 0; // in `diagonals`, where this has L(K, K)
    std::int64_t panel = 0;    // in `panels`: its rows of L(I, K), by columns
    int targets = 0;           // in `targets`: of each row of the panel
    int panel_rows = 0;
    int supernode = 0;
    int first = 0; // row of the matrix
    int width = 0;
    int is_diagonal = 0;
    int row = 0;              // of `rows`, where this has L(K, K)
    int x = 0;                // in `ready_x`, where this has not
    int children[2] = {0, 0}; // of `children`, from and to
    int blocks[2] = {0, 0};   // of `block_rows`
};

// The sum of row I on one virtual GPU: fmod of the paper is in `missing`, lsum in `sums`.
struct Row {
    int supernode = 0;
    int width = 0;
    int sum = 0;          // in `sums`
    int parent_slot = -1; // of the virtual GPU that gets the sum, -1: this has L(I, I)
};

// Where a sum of another virtual GPU arrives.
struct Slot {
    int row = 0;    // it is added to
    int values = 0; // in `ready_sums`
};

// The first wait that has gone on for too long.
struct Failure {
    int what = 0; // 0: none, else below
    int gpu = 0;
    int supernode = 0;
};
enum Awaited {
    nothing = 0,
    awaited_x = 1,
    awaited_sum = 2,
    awaited_terms = 3,
    awaited_arrival = 4
};

struct Machine {
    // The same for every solve. Those with `begin` have the end of one virtual GPU where the next
    // one begins.
    const int* column_begin = nullptr;
    const Column* columns = nullptr;   // by virtual GPUs, and by supernodes in these
    const int* children = nullptr;     // columns to which x(K) is put
    const int* block_rows = nullptr;   // rows that L(I, K) adds to
    const double* diagonals = nullptr; // triangles by columns; reciprocals on the diagonal
    const double* panels = nullptr;
    const int* targets = nullptr; // in `sums`
    const Row* rows = nullptr;
    const int* slot_begin = nullptr;
    const Slot* slots = nullptr;
    const int* awaited_begin = nullptr;
    const int* awaited = nullptr; // columns whose x arrives
    const double* right_side = nullptr;
    int gpus = 0;
    int widest = 0;          // columns of a supernode
    int lost = -1;           // put of each virtual GPU that is never told of
    std::uint64_t limit = 0; // ns that a block waits at most

    // Of one solve.
    int* tickets = nullptr;   // per virtual GPU: columns that its blocks have taken
    int* puts = nullptr;      // per virtual GPU
    int* flag_x = nullptr;    // per column: set by the parent, after `ready_x`
    int* arrived = nullptr;   // per column: WAIT has seen that
    int* flag_sums = nullptr; // per slot: 1 is set by the child, after `ready_sums`; 2: it is taken
    int* missing = nullptr;   // per row: terms that are not in the sum yet
    double* ready_x = nullptr;
    double* ready_sums = nullptr;
    double* sums = nullptr;
    double* solution = nullptr;
    Failure* failure = nullptr;
};

// Doubles of the memory that threads of a block share: x, what is left of the right side, L(K, K).
constexpr int packed_size(int width) { return width * (width + 1) / 2; }
constexpr int scratch_size(int widest) { return 2 * widest + packed_size(widest); }

// What threads of a block tell each other. Without values at first, which shared memory cannot
// have.
struct Notes {
    int column;
    int is_here;
};

} // namespace bench::sptrsv_gpu
