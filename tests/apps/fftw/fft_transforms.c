/* fft_transforms [ROUNDS [CASE]]: distributed Fourier transforms and transposes by FFTW, with sizes
 * that the ranks divide and with sizes that they do not; CASE: only those whose name begins so.
 * Prints a hash of the bits of all results of each rank. */
#include <fftw3-mpi.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number from its place in the whole array, the same on however many ranks. */
static double value_at(ptrdiff_t place) {
    uint64_t bits = ((uint64_t)place + 1) * UINT64_C(0x9E3779B97F4A7C15);
    bits ^= bits >> 29;
    bits *= UINT64_C(0xBF58476D1CE4E5B9);
    bits ^= bits >> 32;
    return (double)(bits >> 11) * 0x1p-53 - 0.5;
}

static void fill(double* data, ptrdiff_t first, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; i++) data[i] = value_at(first + i);
}

/* FNV-1a of doubles, continued from the hash of what came before them. */
static const uint64_t no_hash = UINT64_C(0xCBF29CE484222325);

static uint64_t add_to_hash(uint64_t hash, const void* data, ptrdiff_t count) {
    const unsigned char* byte = data;
    const size_t bytes = (size_t)count * sizeof(double);
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ byte[i]) * UINT64_C(0x100000001B3);
    return hash;
}

static void print_hashes(const char* what, uint64_t mine) {
    uint64_t* all = NULL;
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) all = malloc((size_t)ranks * sizeof *all);
    MPI_Gather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < ranks; i++) {
        printf("%s rank %d: %016" PRIx64 "\n", what, i, all[i]);
    }
    free(all);
}

static void* allocate(size_t bytes) {
    void* memory = fftw_malloc(bytes > 0 ? bytes : 1);
    if (!memory) MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

/* Forward and, from its result, backward again: each exchanges all data twice. FFTW uses collective
 * calls where it may overwrite its input, else pairs of Sendrecv. */
static void transform(const char* what, int dimensions, const ptrdiff_t* size, int rounds) {
    ptrdiff_t local, start, row = 2; /* doubles in what a plane of the first dimension holds */
    for (int i = 1; i < dimensions; i++) row *= size[i];
    const ptrdiff_t room = fftw_mpi_local_size(dimensions, size, MPI_COMM_WORLD, &local, &start);
    fftw_complex* data = allocate((size_t)room * sizeof *data);
    fftw_complex* image = allocate((size_t)room * sizeof *image);
    fftw_plan forward = fftw_mpi_plan_dft(dimensions, size, data, image, MPI_COMM_WORLD,
                                          FFTW_FORWARD, FFTW_ESTIMATE | FFTW_DESTROY_INPUT);
    fftw_plan backward = fftw_mpi_plan_dft(dimensions, size, image, data, MPI_COMM_WORLD,
                                           FFTW_BACKWARD, FFTW_ESTIMATE | FFTW_DESTROY_INPUT);
    if (!forward || !backward) MPI_Abort(MPI_COMM_WORLD, 1);
    uint64_t hash = no_hash;
    for (int round = 0; round < rounds; round++) {
        fill((double*)data, start * row + round, local * row);
        fftw_execute(forward);
        hash = add_to_hash(hash, image, local * row);
        fftw_execute(backward);
        hash = add_to_hash(hash, data, local * row);
    }
    print_hashes(what, hash);
    fftw_destroy_plan(forward);
    fftw_destroy_plan(backward);
    fftw_free(data);
    fftw_free(image);
}

static void transpose(const char* what, ptrdiff_t rows, ptrdiff_t columns, int rounds) {
    const ptrdiff_t size[2] = {rows, columns};
    ptrdiff_t local, start, local_out, start_out;
    const ptrdiff_t room = fftw_mpi_local_size_many_transposed(
        2, size, 1, FFTW_MPI_DEFAULT_BLOCK, FFTW_MPI_DEFAULT_BLOCK, MPI_COMM_WORLD, &local, &start,
        &local_out, &start_out);
    double *in = allocate((size_t)room * sizeof *in), *out = allocate((size_t)room * sizeof *out);
    fftw_plan plan = fftw_mpi_plan_transpose(rows, columns, in, out, MPI_COMM_WORLD,
                                             FFTW_ESTIMATE | FFTW_DESTROY_INPUT);
    if (!plan) MPI_Abort(MPI_COMM_WORLD, 1);
    uint64_t hash = no_hash;
    for (int round = 0; round < rounds; round++) {
        fill(in, start * columns + round, local * columns);
        fftw_execute(plan);
        hash = add_to_hash(hash, out, local_out * rows);
    }
    print_hashes(what, hash);
    fftw_destroy_plan(plan);
    fftw_free(in);
    fftw_free(out);
}

static int is_wanted(const char* what, const char* wanted) {
    return strncmp(what, wanted, strlen(wanted)) == 0;
}

int main(int argc, char** argv) {
    static const struct {
        const char* what;
        int dimensions; /* 0: a transpose */
        ptrdiff_t size[3];
    } cases[] = {
        {"64 x 64", 2, {64, 64}},
        {"61 x 37", 2, {61, 37}},
        {"32 x 16 x 8", 3, {32, 16, 8}},
        {"23 x 19 x 30", 3, {23, 19, 30}},
        {"transpose 50 x 77", 0, {50, 77}},
        {"transpose 3 x 41", 0, {3, 41}}, /* fewer rows than many a job has ranks */
    };
    const int rounds = argc > 1 ? atoi(argv[1]) : 1;
    const char* wanted = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!is_wanted(cases[i].what, wanted)) continue;
        if (cases[i].dimensions == 0) {
            transpose(cases[i].what, cases[i].size[0], cases[i].size[1], rounds);
        } else {
            transform(cases[i].what, cases[i].dimensions, cases[i].size, rounds);
        }
    }
    fftw_mpi_cleanup();
    MPI_Finalize();
    return 0;
}
