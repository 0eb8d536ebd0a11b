#include "runtime/point_to_point/straight_messages.hpp"

#include <algorithm>

namespace nodeaware {

StraightMessages::StraightMessages(MPI_Comm comm) : comm_(comm), catch_all_(comm) {
    void* value = nullptr;
    int found = 0;
    MPI_CALL(Comm_get_attr, MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &found);
    if (found != 0) { largest_tag_ = *static_cast<int*>(value); }
}

std::optional<int> StraightMessages::tag(int part, int tag, uint32_t number) const {
    if (part < 0) { return std::nullopt; }
    return PayloadTags(largest_tag_, part).of(tag, number);
}

int StraightMessages::take_part(int source) {
    auto& taken = taken_[source];
    const auto free = std::find(taken.begin(), taken.end(), false);
    if (free == taken.end()) { return no_part; }
    *free = true;
    return static_cast<int>(free - taken.begin());
}

void StraightMessages::give_part_back(int source, int part) {
    if (part >= 0) { taken_[source][static_cast<size_t>(part)] = false; }
}

namespace {

/// The application may free the datatype of a receive once it is posted.
UserMemory without_datatype(const UserMemory& memory) {
    if (memory.dense == nullptr && memory.bytes > 0) { return memory; }
    return {memory.dense, static_cast<MPI_Count>(memory.bytes), MPI_BYTE, memory.bytes,
            memory.dense};
}

} // namespace

MPI_Request StraightMessages::send(const UserMemory& memory, int destination,
                                   int payload_tag) const {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = begin_send(memory, destination, payload_tag, comm_, &request);
    if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Isend"); }
    return request;
}

MPI_Request StraightMessages::receive(const UserMemory& memory, int source, int payload_tag) const {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = begin_receive(without_datatype(memory), source, payload_tag, comm_, &request);
    if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Irecv"); }
    return request;
}

MPI_Message StraightMessages::probe(int source, int payload_tag) const {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_CALL(Improbe, source, payload_tag, comm_, &found, &message, MPI_STATUS_IGNORE);
    return found != 0 ? message : MPI_MESSAGE_NULL;
}

} // namespace nodeaware
