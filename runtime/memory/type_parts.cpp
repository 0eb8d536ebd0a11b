#include "runtime/memory/type_parts.hpp"

#include <algorithm>
#include <vector>

namespace nodeaware {

namespace {

bool is_named(int combiner) {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
           combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
}

/// How a datatype has been made.
struct Envelope {
    int integers = 0;
    int addresses = 0;
    int datatypes = 0;
    int combiner = MPI_COMBINER_NAMED;
    bool is_large = false; ///< with large counts, of which only other functions tell
};
Envelope envelope_of(MPI_Datatype handle) {
    Envelope of;
#ifdef NODEAWARE_MPI_LARGE_COUNTS
    if (mpi.Type_get_envelope_c != nullptr) { // the other one is refused where counts are large
        MPI_Count integers = 0;
        MPI_Count addresses = 0;
        MPI_Count large = 0;
        MPI_Count datatypes = 0;
        MPI_CALL(Type_get_envelope_c, handle, &integers, &addresses, &large, &datatypes,
                 &of.combiner);
        of.integers = static_cast<int>(integers);
        of.addresses = static_cast<int>(addresses);
        of.datatypes = static_cast<int>(datatypes);
        of.is_large = large > 0;
        return of;
    }
#endif
    MPI_CALL(Type_get_envelope, handle, &of.integers, &of.addresses, &of.datatypes, &of.combiner);
    return of;
}

/// Contents of a derived datatype; frees the handles that MPI_Type_get_contents makes.
class Contents {
  public:
    Contents(MPI_Datatype type, int integers, int addresses, int datatypes)
        : integers_(static_cast<size_t>(integers)), addresses_(static_cast<size_t>(addresses)),
          types_(static_cast<size_t>(datatypes), MPI_DATATYPE_NULL) {
        MPI_CALL(Type_get_contents, type, integers, addresses, datatypes, integers_.data(),
                 addresses_.data(), types_.data());
    }
    ~Contents() {
        for (MPI_Datatype& type : types_) {
            if (type == MPI_DATATYPE_NULL) { continue; }
            try {
                if (!is_named(envelope_of(type).combiner)) { mpi.Type_free(&type); }
            } catch (const MpiError&) {} // it stays
        }
    }
    Contents(const Contents&) = delete;
    Contents& operator=(const Contents&) = delete;

    MPI_Count integer(size_t i) const { return integers_[i]; }
    MPI_Count address(size_t i) const { return addresses_[i]; }
    MPI_Datatype type(size_t i) const { return types_[i]; }

  private:
    std::vector<int> integers_;
    std::vector<MPI_Aint> addresses_;
    std::vector<MPI_Datatype> types_;
};

/// Rows along the dimension whose elements lie side by side. Integers: dimensions, sizes, sizes of
/// the part, its begins, order.
void visit_subarray(const Contents& contents, const VisitPart& visit) {
    const auto dimensions = static_cast<size_t>(contents.integer(0));
    const auto size = [&](size_t i) { return contents.integer(1 + i); };
    const auto part = [&](size_t i) { return contents.integer(1 + dimensions + i); };
    const auto begin = [&](size_t i) { return contents.integer(1 + 2 * dimensions + i); };
    const bool is_c = contents.integer(1 + 3 * dimensions) == MPI_ORDER_C;
    for (size_t i = 0; i < dimensions; ++i) {
        if (part(i) == 0) { return; }
    }
    // From the fastest dimension to the slowest.
    const auto dimension = [&](size_t i) { return is_c ? dimensions - 1 - i : i; };
    const MPI_Count extent = measure(contents.type(0)).extent;
    std::vector<MPI_Count> at(dimensions, 0);
    std::vector<MPI_Count> stride(dimensions, extent);
    for (size_t i = 1; i < dimensions; ++i) { stride[i] = stride[i - 1] * size(dimension(i - 1)); }
    while (true) {
        MPI_Count offset = 0;
        for (size_t i = 0; i < dimensions; ++i) {
            offset += (begin(dimension(i)) + at[i]) * stride[i];
        }
        if (!visit(contents.type(0), part(dimension(0)), offset)) { return; }
        size_t next = 1;
        while (next < dimensions && ++at[next] == part(dimension(next))) { at[next++] = 0; }
        if (next >= dimensions) { return; }
    }
}

} // namespace

/// Size and bounds of one element, without a look at its structure.
Datatype measure(MPI_Datatype handle) {
    Datatype type;
    type.handle = handle;
    MPI_Count size = 0;
    MPI_Count lower_bound = 0;
    MPI_CALL(Type_size_x, handle, &size);
    MPI_CALL(Type_get_extent_x, handle, &lower_bound, &type.extent);
    MPI_CALL(Type_get_true_extent_x, handle, &type.true_lower_bound, &type.true_extent);
    type.size = static_cast<uint64_t>(size);
    // Without gaps there is still the order of the blocks to look at.
    type.dense_element = size == type.true_extent;
    return type;
}

bool is_predefined(MPI_Datatype handle) { return is_named(envelope_of(handle).combiner); }

bool visit_parts(MPI_Datatype handle, const VisitPart& visit) {
    const Envelope of = envelope_of(handle);
    if (is_named(of.combiner) || of.is_large) { return false; }
    if (of.datatypes == 0) { return true; } // no members, no bytes
    const Contents contents(handle, of.integers, of.addresses, of.datatypes);
    const MPI_Datatype old = contents.type(0);
    const MPI_Count extent = measure(old).extent;
    const auto count = static_cast<size_t>(of.integers > 0 ? contents.integer(0) : 0);
    const auto visit_blocks = [&](auto type, auto length, auto offset) {
        for (size_t i = 0; i < count && visit(type(i), length(i), offset(i)); ++i) {}
        return true;
    };
    const auto same_type = [&](size_t /*i*/) { return old; };
    const auto same_length = [&](size_t /*i*/) { return contents.integer(1); };
    const auto length = [&](size_t i) { return contents.integer(1 + i); };
    const auto address = [&](size_t i) { return MPI_Count{contents.address(i)}; };
    switch (of.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: visit(old, 1, 0); return true;
    case MPI_COMBINER_CONTIGUOUS: visit(old, contents.integer(0), 0); return true;
    case MPI_COMBINER_SUBARRAY: visit_subarray(contents, visit); return true;
    case MPI_COMBINER_VECTOR:
        return visit_blocks(same_type, same_length, [&](size_t i) {
            return static_cast<MPI_Count>(i) * contents.integer(2) * extent;
        });
    case MPI_COMBINER_HVECTOR:
        return visit_blocks(same_type, same_length, [&](size_t i) {
            return static_cast<MPI_Count>(i) * contents.address(0);
        });
    case MPI_COMBINER_INDEXED:
        return visit_blocks(same_type, length,
                            [&](size_t i) { return contents.integer(1 + count + i) * extent; });
    case MPI_COMBINER_HINDEXED: return visit_blocks(same_type, length, address);
    case MPI_COMBINER_INDEXED_BLOCK:
        return visit_blocks(same_type, same_length,
                            [&](size_t i) { return contents.integer(2 + i) * extent; });
    case MPI_COMBINER_HINDEXED_BLOCK: return visit_blocks(same_type, same_length, address);
    case MPI_COMBINER_STRUCT:
        return visit_blocks([&](size_t i) { return contents.type(i); }, length, address);
    default: return false;
    }
}

} // namespace nodeaware
