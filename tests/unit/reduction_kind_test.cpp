// Which reductions give the same bits in any order.

#include "runtime/collectives/reduction_kind.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

namespace nodeaware {

using Kind = ReductionKind;

TEST(ReductionKind, OfIntegersIsFree) {
    for (const MPI_Op op : {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND, MPI_BXOR}) {
        EXPECT_EQ(reduction_kind(op, MPI_INT), Kind::order_free);
        EXPECT_EQ(reduction_kind(op, MPI_UINT64_T), Kind::order_free);
    }
    EXPECT_EQ(reduction_kind(MPI_LOR, MPI_C_BOOL), Kind::order_free);
    EXPECT_EQ(reduction_kind(MPI_BOR, MPI_BYTE), Kind::order_free);
    EXPECT_EQ(reduction_kind(MPI_SUM, MPI_AINT), Kind::order_free);
}

TEST(ReductionKind, OfFloatingPointNumbersMayMatter) {
    EXPECT_EQ(reduction_kind(MPI_SUM, MPI_DOUBLE), Kind::bits_may_change);
    EXPECT_EQ(reduction_kind(MPI_PROD, MPI_FLOAT), Kind::bits_may_change);
    EXPECT_EQ(reduction_kind(MPI_SUM, MPI_C_DOUBLE_COMPLEX), Kind::bits_may_change);
    EXPECT_EQ(reduction_kind(MPI_MAX, MPI_LONG_DOUBLE), Kind::bits_may_change);
    EXPECT_EQ(reduction_kind(MPI_MAX, MPI_DOUBLE), Kind::order_free_if_in);
    EXPECT_EQ(reduction_kind(MPI_MIN, MPI_FLOAT), Kind::order_free_if_in);
    if (MPI_REAL8 != MPI_DATATYPE_NULL) {
        EXPECT_EQ(reduction_kind(MPI_SUM, MPI_REAL8), Kind::bits_may_change);
    }
}

/// What MPI refuses, or does by functions of the application.
TEST(ReductionKind, OfOthersIsMpis) {
    EXPECT_EQ(reduction_kind(MPI_BAND, MPI_DOUBLE), Kind::unknown);
    EXPECT_EQ(reduction_kind(MPI_SUM, MPI_BYTE), Kind::unknown);
    EXPECT_EQ(reduction_kind(MPI_SUM, MPI_CHAR), Kind::unknown);
    EXPECT_EQ(reduction_kind(MPI_MAX, MPI_C_BOOL), Kind::unknown);
    EXPECT_EQ(reduction_kind(MPI_MAX, MPI_C_DOUBLE_COMPLEX), Kind::unknown);
    EXPECT_EQ(reduction_kind(MPI_LAND, MPI_AINT), Kind::unknown);
    // It may saturate.
    EXPECT_EQ(reduction_kind(MPI_SUM, MPI_INT16_T), Kind::unknown);
    EXPECT_EQ(reduction_kind(MPI_MAX, MPI_INT16_T), Kind::order_free);
    EXPECT_EQ(reduction_kind(MPI_MAXLOC, MPI_DOUBLE_INT), Kind::unknown);
    EXPECT_EQ(reduction_kind(MPI_REPLACE, MPI_INT), Kind::unknown);
    EXPECT_EQ(reduction_kind(MPI_OP_NULL, MPI_INT), Kind::unknown);
    EXPECT_EQ(reduction_kind(MPI_SUM, MPI_DATATYPE_NULL), Kind::unknown);
}

TEST(ReductionKind, NumbersThatMatter) {
    std::vector<double> numbers = {1, 0, -5, std::numeric_limits<double>::infinity()};
    EXPECT_TRUE(are_order_free(numbers.data(), numbers.size(), sizeof(double)));
    numbers.push_back(-0.0);
    EXPECT_FALSE(are_order_free(numbers.data(), numbers.size(), sizeof(double)));
    EXPECT_TRUE(are_order_free(numbers.data(), numbers.size() - 1, sizeof(double)));
    const std::array<float, 2> few = {1, std::numeric_limits<float>::quiet_NaN()};
    EXPECT_FALSE(are_order_free(few.data(), 2, sizeof(float)));
    EXPECT_TRUE(are_order_free(few.data(), 1, sizeof(float)));
    // Of a size that is not known here.
    EXPECT_FALSE(are_order_free(few.data(), 1, 16));
}

} // namespace nodeaware
