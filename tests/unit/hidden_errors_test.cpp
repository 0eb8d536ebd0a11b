#include "runtime/mpi/hidden_errors.hpp"

#include <gtest/gtest.h>

namespace nodeaware {
namespace {

TEST(HiddenErrors, OfWhichVersions) {
    EXPECT_TRUE(hidden_errors::are_with("MPICH Version:      4.3.2\nMPICH Release date: ..."));
    EXPECT_TRUE(hidden_errors::are_with("MPICH Version:\t4.3.0"));
    EXPECT_TRUE(hidden_errors::are_with("MPICH Version:      5.0.2"));
    EXPECT_TRUE(hidden_errors::are_with("MPICH Version:      10.0"));
    EXPECT_FALSE(hidden_errors::are_with("MPICH Version:\t4.0.2"));
    EXPECT_FALSE(hidden_errors::are_with("MPICH Version:      4.2.1"));
    EXPECT_FALSE(hidden_errors::are_with("MPICH Version:"));
    EXPECT_FALSE(hidden_errors::are_with("MPICH Version: 4"));
    EXPECT_FALSE(hidden_errors::are_with("Open MPI v5.0.7, package: ..."));
    EXPECT_FALSE(hidden_errors::are_with("MPI VERSION    : CRAY MPICH version 8.1.25"));
    EXPECT_FALSE(hidden_errors::are_with(""));
}

/// What a call of an MPI that hides errors comes to.
int code_of_call = MPI_SUCCESS;
int told_by_call = MPI_SUCCESS;
int hiding_barrier(MPI_Comm /*comm*/) {
    if (told_by_call != MPI_SUCCESS) { hidden_errors::told(told_by_call); }
    return code_of_call;
}
int call_barrier(const Mpi& table, int told, int code) {
    told_by_call = told;
    code_of_call = code;
    return table.Barrier(MPI_COMM_WORLD);
}

TEST(HiddenErrors, AreReturned) {
    Mpi table;
    table.Barrier = hiding_barrier;
    hidden_errors::uncover(table);
    EXPECT_EQ(table.Send, nullptr);
    const uint64_t before = hidden_errors::met();
    EXPECT_EQ(call_barrier(table, MPI_SUCCESS, MPI_SUCCESS), MPI_SUCCESS);
    EXPECT_EQ(call_barrier(table, MPI_SUCCESS, MPI_ERR_TAG), MPI_ERR_TAG);
    EXPECT_EQ(call_barrier(table, MPI_ERR_TAG, MPI_ERR_TAG), MPI_ERR_TAG);
    EXPECT_EQ(hidden_errors::met(), before);
    EXPECT_EQ(call_barrier(table, MPI_ERR_TAG, MPI_SUCCESS), MPI_ERR_TAG);
    EXPECT_EQ(hidden_errors::met(), before + 1);
    EXPECT_EQ(call_barrier(table, MPI_SUCCESS, MPI_SUCCESS), MPI_SUCCESS);
    hidden_errors::told(MPI_ERR_RANK); // of another call
    EXPECT_EQ(call_barrier(table, MPI_SUCCESS, MPI_SUCCESS), MPI_SUCCESS);
    EXPECT_EQ(hidden_errors::met(), before + 1);
}

/// Waits, and a callback in it meets an error of its own.
Mpi uncovered;
int hiding_wait(MPI_Request* /*request*/, MPI_Status* /*status*/) {
    EXPECT_EQ(call_barrier(uncovered, MPI_ERR_COMM, MPI_SUCCESS), MPI_ERR_COMM);
    return MPI_SUCCESS;
}

TEST(HiddenErrors, AreOfTheInnermostCall) {
    uncovered.Barrier = hiding_barrier;
    uncovered.Wait = hiding_wait;
    hidden_errors::uncover(uncovered);
    EXPECT_EQ(uncovered.Wait(nullptr, nullptr), MPI_SUCCESS);
}

} // namespace
} // namespace nodeaware
