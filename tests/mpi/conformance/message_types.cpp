// Messages of odd datatypes, sent as such and received as ints and the other way round; counts and
// elements of what is received in part.

#include "tests/mpi/conformance/messages.hpp"
#include "tests/mpi/conformance/types.hpp"

namespace nodeaware::conformance {

namespace {

/// Several of it must not be received.
bool is_in_one_place(const OddType& type) { return std::string(type.name) == "zero_extent"; }

/// `elements` of the type on the side that is asked for, ints on the other.
void send_type(Context& context, const OddType& type, int elements, bool sends_it,
               bool receives_it) {
    if (receives_it && is_in_one_place(type) && elements > 1) { return; }
    const int ints = type.integers * elements;
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(sends_it ? type.room : ints, 100 * context.rank);
        Memory received(static_cast<size_t>(receives_it ? type.room : ints) * sizeof(int));
        int* const from = sent.ints() + (sends_it ? type.first : 0);
        int* const to = received.ints() + (receives_it ? type.first : 0);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Status status = fresh_status();
        context.out.call("Irecv",
                         MPI_Irecv(to, receives_it ? elements : ints,
                                   receives_it ? type.handle : MPI_INT, context.left(shift),
                                   learned_tag, context.comm, &request));
        context.out.call("Send", MPI_Send(from, sends_it ? elements : ints,
                                          sends_it ? type.handle : MPI_INT, context.right(shift),
                                          learned_tag, context.comm));
        context.out.call("Wait", MPI_Wait(&request, &status));
        context.out.status("status", status, receives_it ? type.handle : MPI_INT);
        context.out.data("received", received);
    }
}

/// Fewer ints than the elements hold that there is room for.
void receive_part(Context& context, const OddType& type) {
    if (type.integers == 0 || is_in_one_place(type)) { return; }
    for (const int ints : {0, 1, type.integers, type.integers + 1}) {
        Memory sent = Memory::of_ints(ints, 100 * context.rank);
        Memory received(static_cast<size_t>(type.room) * sizeof(int));
        for (const int shift : {3, 1}) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Status status = fresh_status();
            MPI_Irecv(received.ints() + type.first, 2, type.handle, context.left(shift),
                      learned_tag, context.comm, &request);
            MPI_Send(sent.data(), ints, MPI_INT, context.right(shift), learned_tag, context.comm);
            context.out.call("Wait", MPI_Wait(&request, &status));
            context.out.status("status", status, type.handle);
            MPI_Count elements = -7;
            MPI_Get_elements_x(&status, type.handle, &elements);
            context.out.value("elements", elements);
            context.out.data("received", received);
        }
    }
}

void exchange_type(Context& context, const OddType& type) {
    for (const Combined& function : combined_functions()) {
        if (function.is_nonblocking) { continue; } // MPICH 4.0 writes beyond its memory
        for (const int shift : {3, 1}) {
            const int elements = is_in_one_place(type) ? 1 : 2;
            Memory source = Memory::of_ints(type.room, 100 * context.rank);
            Memory target(source.size());
            const Message sent{source.ints() + type.first, elements,    type.handle,
                               context.right(shift),       learned_tag, context.comm};
            const Message received{target.ints() + type.first, elements,    type.handle,
                                   context.left(shift),        learned_tag, context.comm};
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Status status = fresh_status();
            context.out.call(function.name, function.invoke(sent, received, &request, &status));
            context.out.status("status", status, type.handle);
            context.out.data("source", source);
            context.out.data("target", target);
        }
    }
}

/// Absolute addresses, and MPI_BOTTOM as the buffer; with a gap, or without.
void message_at_bottom(Context& context, int shift, int gap) {
    Memory sent = Memory::of_ints(learned_count + gap, 100 * context.rank);
    Memory received(sent.size());
    MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    const int lengths[2] = {1, learned_count - 1};
    for (int i = 0; i < 2; ++i) {
        MPI_Aint places[2] = {0, 0};
        MPI_Get_address(i == 0 ? sent.data() : received.data(), &places[0]);
        places[1] = places[0] + (1 + gap) * static_cast<MPI_Aint>(sizeof(int));
        MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &types[i]);
        MPI_Type_commit(&types[i]);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = fresh_status();
    context.out.call("Irecv", MPI_Irecv(MPI_BOTTOM, 1, types[1], context.left(shift), learned_tag,
                                        context.comm, &request));
    context.out.call(
        "Send", MPI_Send(MPI_BOTTOM, 1, types[0], context.right(shift), learned_tag, context.comm));
    context.out.call("Wait", MPI_Wait(&request, &status));
    context.out.status("status", status);
    context.out.data("received", received);
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
}

void at_bottom(Context& context) {
    for (const int shift : {3, 1}) {
        for (const int gap : {0, 2}) { message_at_bottom(context, shift, gap); }
    }
}

/// Predefined types that are not of one size.
void predefined(Context& context) {
    const std::pair<const char*, MPI_Datatype> types[] = {{"double", MPI_DOUBLE},
                                                          {"byte", MPI_BYTE},
                                                          {"packed", MPI_PACKED},
                                                          {"short", MPI_SHORT},
                                                          {"double_int", MPI_DOUBLE_INT},
                                                          {"wchar", MPI_WCHAR},
                                                          {"aint", MPI_AINT},
                                                          {"complex", MPI_C_DOUBLE_COMPLEX}};
    for (const auto& [name, type] : types) {
        for (const int shift : {3, 1}) {
            Memory sent = Memory::of_ints(16, 100 * context.rank);
            Memory received(sent.size());
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Status status = fresh_status();
            MPI_Irecv(received.data(), 4, type, context.left(shift), learned_tag, context.comm,
                      &request);
            MPI_Send(sent.data(), 3, type, context.right(shift), learned_tag, context.comm);
            context.out.call(name, MPI_Wait(&request, &status));
            context.out.status(name, status, type);
            context.out.data(name, received);
        }
    }
}

} // namespace

void add_message_types(Cases& cases) {
    cases.group("types");
    for (const OddType& type : odd_types()) {
        const std::string name = type.name;
        cases.add(name + ".sent", Needs::shared,
                  [&type](Context& context) { send_type(context, type, 3, true, false); });
        cases.add(name + ".received", Needs::shared,
                  [&type](Context& context) { send_type(context, type, 3, false, true); });
        cases.add(name + ".both", Needs::shared,
                  [&type](Context& context) { send_type(context, type, 1, true, true); });
        cases.add(name + ".in_part", Needs::shared,
                  [&type](Context& context) { receive_part(context, type); });
        cases.add(name + ".combined", Needs::shared,
                  [&type](Context& context) { exchange_type(context, type); });
    }
    cases.add("bottom", Needs::shared, at_bottom);
    cases.add("predefined", Needs::shared, predefined);
}

} // namespace nodeaware::conformance
