#include "runtime/collectives/reduction_kind.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace nodeaware {

namespace {

/// What an element is to operators (MPI standard, predefined reduction operations).
enum class Element {
    other,
    integer,
    short_integer,
    language_integer,
    logical,
    byte,
    real,
    long_real,
    complex
};

template <class Handle> bool is_any_of(Handle handle, std::initializer_list<Handle> known) {
    return std::find(known.begin(), known.end(), handle) != known.end();
}

Element element_of(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) { return Element::other; } // as those are that an MPI lacks
    if (is_any_of(type,
                  {MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
                   MPI_UNSIGNED_LONG_LONG, MPI_INT32_T, MPI_INT64_T, MPI_UINT32_T, MPI_UINT64_T})) {
        return Element::integer;
    }
    if (is_any_of(type, {MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR,
                         MPI_INT8_T, MPI_INT16_T, MPI_UINT8_T, MPI_UINT16_T})) {
        return Element::short_integer;
    }
    if (is_any_of(type,
                  {MPI_DOUBLE, MPI_FLOAT, MPI_DOUBLE_PRECISION, MPI_REAL, MPI_REAL4, MPI_REAL8})) {
        return Element::real;
    }
    if (is_any_of(type,
                  {MPI_INTEGER, MPI_INTEGER4, MPI_INTEGER8, MPI_AINT, MPI_OFFSET, MPI_COUNT})) {
        return Element::language_integer;
    }
    if (is_any_of(type, {MPI_C_BOOL, MPI_LOGICAL})) { return Element::logical; }
    if (type == MPI_BYTE) { return Element::byte; }
    if (type == MPI_LONG_DOUBLE) { return Element::long_real; }
    if (is_any_of(type, {MPI_C_DOUBLE_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX,
                         MPI_COMPLEX8, MPI_COMPLEX16})) {
        return Element::complex;
    }
    return Element::other;
}

ReductionKind if_any(bool is_known, ReductionKind kind) {
    return is_known ? kind : ReductionKind::unknown;
}

} // namespace

ReductionKind reduction_kind(MPI_Op op, MPI_Datatype type) {
    const bool is_extreme = is_any_of(op, {MPI_MAX, MPI_MIN});
    const bool is_arithmetic = is_any_of(op, {MPI_SUM, MPI_PROD});
    const bool is_logical = is_any_of(op, {MPI_LAND, MPI_LOR, MPI_LXOR});
    const bool is_bitwise = is_any_of(op, {MPI_BAND, MPI_BOR, MPI_BXOR});
    if (!is_extreme && !is_arithmetic && !is_logical && !is_bitwise) {
        return ReductionKind::unknown;
    }
    switch (element_of(type)) {
    case Element::integer: return ReductionKind::order_free;
    // Open MPI has sums of them that saturate (op/avx), but not for the last elements of a vector.
    case Element::short_integer: return if_any(!is_arithmetic, ReductionKind::order_free);
    case Element::language_integer: return if_any(!is_logical, ReductionKind::order_free);
    case Element::logical: return if_any(is_logical, ReductionKind::order_free);
    case Element::byte: return if_any(is_bitwise, ReductionKind::order_free);
    case Element::real:
        if (is_extreme) { return ReductionKind::order_free_if_in; }
        return if_any(is_arithmetic, ReductionKind::bits_may_change);
    case Element::long_real:
        return if_any(is_extreme || is_arithmetic, ReductionKind::bits_may_change);
    case Element::complex: return if_any(is_arithmetic, ReductionKind::bits_may_change);
    case Element::other: break;
    }
    return ReductionKind::unknown;
}

namespace {

template <class Number> bool are_all_order_free(const void* terms, uint64_t count) {
    const auto* const numbers = static_cast<const Number*>(terms);
    return std::none_of(numbers, numbers + count, [](Number number) {
        return std::isnan(number) || (number == 0 && std::signbit(number));
    });
}

} // namespace

bool are_order_free(const void* terms, uint64_t count, uint64_t size) {
    if (size == sizeof(float)) { return are_all_order_free<float>(terms, count); }
    return size == sizeof(double) && are_all_order_free<double>(terms, count);
}

} // namespace nodeaware
