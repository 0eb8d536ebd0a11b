// What Open MPI 4.1 and MPICH 4.0 ask of the arguments of an exchange. Other versions differ in
// little, and in calls that no correct program makes.

#include "runtime/collectives/examination.hpp"

#include "runtime/communicators/self_communicator.hpp"

#include <algorithm>

namespace nodeaware {

namespace {

/// MPI itself tells whether it takes an element at that address, by a send to nobody: no other
/// function knows whether a datatype is committed, and an invalid handle must not reach those that
/// would call the error handler of the application.
bool takes(const void* address, MPI_Datatype type) {
    return type != MPI_DATATYPE_NULL &&
           mpi.Send(address, 1, type, MPI_PROC_NULL, 0, self_communicator()) == MPI_SUCCESS;
}

/// Datatypes that are asked about one after the other are often all alike.
class Types {
  public:
    bool is_usable(MPI_Datatype type) {
        if (type == usable_ && type != MPI_DATATYPE_NULL) { return true; }
        const char somewhere = 0;
        if (!takes(&somewhere, type)) { return false; }
        usable_ = type;
        return true;
    }

  private:
    MPI_Datatype usable_ = MPI_DATATYPE_NULL;
};

bool is_row(const Blocks& blocks) {
    return blocks.kind == Blocks::Kind::counted || blocks.kind == Blocks::Kind::typed;
}

bool lacks_lists(const Blocks& blocks) {
    return is_row(blocks) && (blocks.counts.is_null() || blocks.displacements.is_null() ||
                              (blocks.kind == Blocks::Kind::typed && blocks.types == nullptr));
}

namespace open_mpi {

bool are_usable(const Blocks& blocks, int number) {
    Types types;
    for (int i = 0; i < (is_row(blocks) ? number : 1); ++i) {
        if (blocks.count_of(i) < 0 || !types.is_usable(blocks.type_of(i))) { return false; }
    }
    return true;
}

/// What is gathered: the datatype need not be committed.
bool are_receivable(const Blocks& blocks, int number) {
    if (blocks.type == MPI_DATATYPE_NULL) { return false; }
    for (int i = 0; i < (is_row(blocks) ? number : 1); ++i) {
        if (blocks.count_of(i) < 0) { return false; }
    }
    return true;
}

uint64_t bytes_of(const Blocks& blocks, int i) {
    MPI_Count size = 0;
    MPI_CALL(Type_size_x, blocks.type_of(i), &size);
    return static_cast<uint64_t>(size) * static_cast<uint64_t>(blocks.count_of(i));
}

bool is_refused(const ExchangeArguments& arguments, const BlockNumbers& numbers, Form form) {
    const Blocks& received = arguments.received;
    const Blocks& sent = arguments.is_in_place() ? received : arguments.sent;
    const bool gathers = sent.kind == Blocks::Kind::one;
    if (received.buffer == MPI_IN_PLACE || sent.buffer == MPI_IN_PLACE) { return true; }
    const bool always = form == Form::persistent || gathers;
    if ((lacks_lists(sent) && (always || numbers.sent > 0)) ||
        (lacks_lists(received) && (always || numbers.received > 0))) {
        return true;
    }
    if (!are_usable(sent, numbers.sent) || !(gathers ? are_receivable(received, numbers.received)
                                                     : are_usable(received, numbers.received))) {
        return true;
    }
    if (arguments.is_in_place() || gathers || (arguments.is_with_neighbors && is_row(sent))) {
        return false;
    }
    return bytes_of(sent, numbers.own) != bytes_of(received, numbers.own);
}

bool is_empty(const Blocks& received, Form form) {
    return form == Form::blocking && bytes_of(received, 0) == 0;
}

} // namespace open_mpi

namespace mpich {

bool is_usable(const Blocks& blocks, int number, bool is_with_neighbors) {
    Types types;
    const bool skips_empty = blocks.kind == Blocks::Kind::typed ||
                             (is_with_neighbors && blocks.kind != Blocks::Kind::counted);
    if (!skips_empty && !types.is_usable(blocks.type)) { return false; }
    for (int i = 0; i < (is_row(blocks) ? number : 1); ++i) {
        const MPI_Count count = blocks.count_of(i);
        if (count < 0) { return false; }
        if (count == 0) { continue; }
        const MPI_Datatype type = blocks.type_of(i);
        // An operation with neighbours would take it for an address.
        if (!types.is_usable(type) || blocks.buffer == MPI_IN_PLACE) { return false; }
        const bool at_start = !is_row(blocks) || blocks.displacements[i] == 0;
        if (blocks.buffer == nullptr && at_start && !takes(nullptr, type)) { return false; }
    }
    return true;
}

/// A setting of MPICH.
bool refuses_aliases() {
    static const bool refuses = [] {
        int one = 1;
        return mpi.Alltoall(&one, 1, MPI_INT, &one, 1, MPI_INT, self_communicator()) != MPI_SUCCESS;
    }();
    return refuses;
}

bool are_aliased(const Blocks& sent, const Blocks& received) {
    if (sent.buffer != received.buffer) { return false; }
    const bool same_types = sent.kind == Blocks::Kind::typed ? sent.types == received.types
                                                             : sent.type == received.type;
    const bool same_counts = is_row(sent) ? sent.counts == received.counts
                                          : sent.count == received.count && sent.count != 0;
    return same_types && same_counts && refuses_aliases();
}

bool is_refused(const ExchangeArguments& arguments, const BlockNumbers& numbers) {
    const Blocks& sent = arguments.sent;
    const Blocks& received = arguments.received;
    const bool with_neighbors = arguments.is_with_neighbors;
    if (lacks_lists(received) && numbers.received > 0) { return true; } // it crashes
    if (!is_usable(received, numbers.received, with_neighbors)) { return true; }
    if (arguments.is_in_place()) { return false; }
    if (lacks_lists(sent) && numbers.sent > 0) { return true; }
    return !is_usable(sent, numbers.sent, with_neighbors) ||
           (!with_neighbors && are_aliased(sent, received));
}

bool is_empty(const Blocks& received, Form form) {
    return form != Form::persistent && received.count == 0;
}

} // namespace mpich

bool is_refused(const ExchangeArguments& arguments, const BlockNumbers& numbers, Form form) {
    return is_open_mpi() ? open_mpi::is_refused(arguments, numbers, form)
                         : mpich::is_refused(arguments, numbers);
}

bool is_empty(const Blocks& received, Form form) {
    return is_open_mpi() ? open_mpi::is_empty(received, form) : mpich::is_empty(received, form);
}

} // namespace

Examined examine(const ExchangeArguments& arguments, const BlockNumbers& numbers, Form form) {
    if (is_refused(arguments, numbers, form)) { return Examined::refused; }
    const bool equal_blocks =
        !arguments.is_with_neighbors && arguments.received.kind == Blocks::Kind::uniform;
    return equal_blocks && is_empty(arguments.received, form) ? Examined::empty
                                                              : Examined::accepted;
}

} // namespace nodeaware
