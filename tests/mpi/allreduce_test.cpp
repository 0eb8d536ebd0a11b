// allreduce_test CALLS SEED any|bits: random MPI_Allreduce on several communicators, each compared
// with the PMPI_Allreduce of the same terms. any: every bit must be the same; bits: those of
// floating-point sums may differ between the two, but never between ranks.

#include "tests/mpi/harness.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using nodeaware::test::Harness;

enum class Element { integer, logical, bits, real, complex };

struct Type {
    MPI_Datatype handle;
    Element element;
    size_t size;
};

std::vector<Type> types() {
    std::vector<Type> all;
    const auto add = [&](Element element, std::initializer_list<MPI_Datatype> handles) {
        for (const MPI_Datatype handle : handles) {
            int size = 0;
            if (handle == MPI_DATATYPE_NULL) { continue; }
            MPI_Type_size(handle, &size);
            all.push_back({handle, element, static_cast<size_t>(size)});
        }
    };
    add(Element::integer,
        {MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG,
         MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_INT8_T, MPI_INT16_T,
         MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T});
    add(Element::logical, {MPI_C_BOOL});
    add(Element::bits, {MPI_BYTE});
    add(Element::real, {MPI_DOUBLE, MPI_FLOAT});
    add(Element::complex, {MPI_C_DOUBLE_COMPLEX});
    return all;
}

std::vector<MPI_Op> operators(Element element) {
    switch (element) {
    case Element::integer:
        return {MPI_SUM, MPI_PROD, MPI_MAX,  MPI_MIN, MPI_LAND,
                MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
    case Element::logical: return {MPI_LAND, MPI_LOR, MPI_LXOR};
    case Element::bits: return {MPI_BAND, MPI_BOR, MPI_BXOR};
    case Element::real: return {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD};
    case Element::complex: return {MPI_SUM};
    }
    return {};
}

template <class Number> void write_real(std::byte* to, std::mt19937& random) {
    Number value = static_cast<Number>(static_cast<int>(random() % 2001) - 1000) / Number(7);
    // What makes the order matter.
    if (random() % 2000 == 0) { value = std::numeric_limits<Number>::quiet_NaN(); }
    if (random() % 500 == 0) { value = Number(0); }
    if (random() % 500 == 0) { value = -Number(0); }
    std::memcpy(to, &value, sizeof value);
}

std::vector<std::byte> make_terms(const Type& type, size_t count, std::mt19937& random) {
    std::vector<std::byte> terms(count * type.size);
    for (size_t i = 0; i < count; ++i) {
        std::byte* const to = terms.data() + i * type.size;
        if (type.element == Element::real) {
            type.size == sizeof(float) ? write_real<float>(to, random)
                                       : write_real<double>(to, random);
        } else if (type.element == Element::complex) {
            write_real<double>(to, random);
            write_real<double>(to + sizeof(double), random);
        } else if (type.element == Element::logical) {
            *to = static_cast<std::byte>(random() % 2);
        } else {
            for (size_t byte = 0; byte < type.size; ++byte) {
                to[byte] = random() % 8 == 0 ? std::byte{0} : static_cast<std::byte>(random());
            }
        }
    }
    return terms;
}

template <class Number> bool is_near(const std::byte* a, const std::byte* b) {
    Number x;
    Number y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    if (std::isnan(x) || std::isnan(y)) { return std::isnan(x) == std::isnan(y); }
    if (std::isinf(x) || std::isinf(y)) { return true; } // products that nearly overflow
    return std::abs(x - y) <= Number(1e-3) * (std::abs(x) + std::abs(y) + Number(1));
}

bool are_near(const Type& type, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
    const size_t step = type.size == sizeof(float) ? sizeof(float) : sizeof(double);
    for (size_t at = 0; at < a.size(); at += step) {
        const bool is_right = step == sizeof(float) ? is_near<float>(&a[at], &b[at])
                                                    : is_near<double>(&a[at], &b[at]);
        if (!is_right) { return false; }
    }
    return true;
}

/// All ranks of a communicator have got the same bits.
bool are_alike(const std::vector<std::byte>& result, MPI_Comm comm) {
    std::vector<std::byte> first = result;
    PMPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_BYTE, 0, comm);
    return first == result;
}

struct Call {
    Type type;
    MPI_Op op;
    int count;
    bool is_in_place;
};

Call make_call(unsigned seed) {
    static const std::vector<Type> all = types();
    std::mt19937 random(seed);
    Call call{all[random() % all.size()], MPI_SUM, 0, random() % 3 == 0};
    const std::vector<MPI_Op> ops = operators(call.type.element);
    call.op = ops[random() % ops.size()];
    switch (random() % 10) {
    case 0: call.count = 0; break;
    case 1: call.count = static_cast<int>(random() % 3000); break;
    case 2: call.count = 1 + static_cast<int>(random() % 128); break;
    default: call.count = 1 + static_cast<int>(random() % 4); break;
    }
    return call;
}

/// What Open MPI takes without MPI_IN_PLACE, too, on any rank.
const void* place_of_terms(const Call& call, const void* received, bool takes_same_place) {
    if (nodeaware::test::is_open_mpi() && call.count == 1 && takes_same_place) { return received; }
    return takes_same_place && call.is_in_place ? MPI_IN_PLACE : nullptr;
}

void run(Harness& test, MPI_Comm comm, unsigned seed, bool may_bits_change) {
    const Call call = make_call(seed);
    std::mt19937 random(seed * 1000 + static_cast<unsigned>(test.rank()));
    const std::vector<std::byte> terms =
        make_terms(call.type, static_cast<size_t>(call.count), random);
    std::vector<std::byte> expected(terms.size() + 1);
    std::vector<std::byte> found(terms.size() + 1, std::byte{0x5a});
    PMPI_Allreduce(terms.data(), expected.data(), call.count, call.type.handle, call.op, comm);
    const void* sent = place_of_terms(call, found.data(), random() % 2 == 0);
    if (sent != nullptr) { std::copy(terms.begin(), terms.end(), found.begin()); }
    const int code = MPI_Allreduce(sent != nullptr ? sent : terms.data(), found.data(), call.count,
                                   call.type.handle, call.op, comm);
    const auto expect = [&](bool holds, const char* what) {
        test.expect(holds, "seed " + std::to_string(seed) + ": " + what);
    };
    expect(code == MPI_SUCCESS, "an error");
    expect(found.back() == (std::byte{0x5a}), "more than the result is written");
    found.pop_back();
    expected.pop_back();
    const bool is_float =
        call.type.element == Element::real || call.type.element == Element::complex;
    if (is_float && may_bits_change) {
        expect(are_near(call.type, found, expected), "a wrong result");
        expect(are_alike(found, comm) || !are_alike(expected, comm), "not the same on all ranks");
    } else {
        expect(found == expected, "not the same as MPI's");
    }
}

} // namespace

int main(int argc, char** argv) {
    Harness test(&argc, &argv);
    const unsigned calls = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 300;
    const unsigned first_seed = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
    const bool may_bits_change = argc > 3 && std::string(argv[3]) == "bits";
    MPI_Comm backwards = MPI_COMM_NULL;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, test.size() - test.rank(), &backwards);
    MPI_Comm_split(MPI_COMM_WORLD, test.rank() % 2, test.rank(), &half);
    for (unsigned seed = first_seed; seed < first_seed + calls; ++seed) {
        const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_WORLD, backwards, half};
        run(test, comms[seed % 4], seed, may_bits_change);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&backwards);
    return test.finish();
}
