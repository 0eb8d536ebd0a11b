#pragma once

#include "tests/mpi/harness.hpp"

#include <vector>

namespace nodeaware::test {

/// A datatype whose elements hold `integers` ints in at most `span` ints of memory.
struct TestType {
    const char* name;
    MPI_Datatype handle;
    int integers;
    int span;   ///< ints from the first to behind the last touched, or the extent if that is more
    int extent; ///< in ints
};

/// Datatypes with and without gaps, in and out of order, with extents that differ from their sizes.
/// All hold 1, 2, 3 or 6 ints, so that messages of a multiple of 6 ints can be sent with one and
/// received with another.
class TestTypes {
  public:
    TestTypes() {
        list_.push_back({"int", MPI_INT, 1, 1, 1});
        add("contiguous", 3, 3, 3,
            [](MPI_Datatype* type) { MPI_Type_contiguous(3, MPI_INT, type); });
        add("dense vector", 6, 6, 6,
            [](MPI_Datatype* type) { MPI_Type_vector(3, 2, 2, MPI_INT, type); });
        add(
            "vector", 6, 11, 11,
            [](MPI_Datatype* type) { MPI_Type_vector(3, 2, 4, MPI_INT, type); }, 10);
        add("swapped", 2, 2, 2, [](MPI_Datatype* type) {
            const int lengths[2] = {1, 1};
            const int places[2] = {1, 0};
            MPI_Type_indexed(2, lengths, places, MPI_INT, type);
        });
        add("padded", 2, 5, 5, [](MPI_Datatype* type) { resized(2, 0, 5, type); });
        add("shifted", 3, 6, 6, [](MPI_Datatype* type) {
            const int lengths[1] = {3};
            const int places[1] = {2};
            MPI_Datatype inner = MPI_DATATYPE_NULL;
            MPI_Type_indexed(1, lengths, places, MPI_INT, &inner);
            MPI_Type_create_resized(inner, 0, 6 * sizeof(int), type);
            MPI_Type_free(&inner);
        });
        add("structure", 3, 5, 5, [](MPI_Datatype* type) {
            const int lengths[2] = {1, 2};
            const MPI_Aint places[2] = {0, 3 * sizeof(int)};
            const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
            MPI_Type_create_struct(2, lengths, places, types, type);
        });
        add("dense structure", 6, 6, 6, [](MPI_Datatype* type) {
            MPI_Datatype pair = MPI_DATATYPE_NULL;
            MPI_Type_contiguous(2, MPI_INT, &pair);
            const int lengths[2] = {2, 2};
            const MPI_Aint places[2] = {0, 2 * sizeof(int)};
            const MPI_Datatype types[2] = {MPI_INT, pair};
            MPI_Type_create_struct(2, lengths, places, types, type);
            MPI_Type_free(&pair);
        });
        add("subarray", 6, 15, 15, [](MPI_Datatype* type) {
            const int sizes[2] = {3, 5};
            const int parts[2] = {2, 3};
            const int starts[2] = {1, 1};
            MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, type);
        });
    }
    ~TestTypes() {
        for (size_t i = 1; i < list_.size(); ++i) { MPI_Type_free(&list_[i].handle); }
    }
    TestTypes(const TestTypes&) = delete;
    TestTypes& operator=(const TestTypes&) = delete;

    const TestType& draw_one(Random& random) const {
        return list_[static_cast<size_t>(draw(random, 0, static_cast<int>(list_.size()) - 1))];
    }
    const std::vector<TestType>& list() const { return list_; }

  private:
    template <class Make>
    void add(const char* name, int integers, int span, int extent, Make make, int true_extent = 0) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        make(&type);
        MPI_Type_commit(&type);
        list_.push_back({name, type, integers, span, true_extent > 0 ? true_extent : extent});
    }

    static void resized(int integers, int lower, int extent, MPI_Datatype* type) {
        MPI_Datatype inner = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(integers, MPI_INT, &inner);
        MPI_Type_create_resized(inner, lower * static_cast<MPI_Aint>(sizeof(int)),
                                extent * static_cast<MPI_Aint>(sizeof(int)), type);
        MPI_Type_free(&inner);
    }

    std::vector<TestType> list_;
};

} // namespace nodeaware::test
