#include "runtime/collectives/host_buffers.hpp"

#include "runtime/communicators/self_communicator.hpp"
#include "runtime/job/log.hpp"
#include "runtime/memory/areas_on_host.hpp"
#include "runtime/memory/copied_together.hpp"
#include "runtime/memory/elements.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <new>

namespace nodeaware {

namespace {

/// What is sent where there is no memory for it, and where that goes which is received then. Others
/// wait for this rank: a message of the right size keeps them from waiting for ever.
std::array<std::byte, 64 << 10> nowhere;

} // namespace

HostBlocks::~HostBlocks() {
    for (auto& [original, made] : made_) {
        if (made != original) { mpi.Type_free(&made); }
    }
}

void HostBlocks::list(const Blocks& blocks, int number, const std::vector<int>* peers) {
    kind_ = blocks.kind;
    is_wide_ = blocks.kind == Blocks::Kind::uniform || blocks.kind == Blocks::Kind::one ||
               blocks.displacements.is_wide();
    BlockReader reader(blocks);
    for (int i = 0; i < (kind_ == Blocks::Kind::one ? 1 : number); ++i) {
        Block block{blocks.count_of(i), blocks.type_of(i), {}};
        const bool is_nobodys = peers != nullptr && kind_ != Blocks::Kind::one &&
                                (*peers)[static_cast<size_t>(i)] == MPI_PROC_NULL;
        const UserMemory memory = reader.at(i);
        if (!is_nobodys && memory.bytes > 0) { block.memory = memory; }
        blocks_.push_back(block);
    }
}

bool HostBlocks::are_needed() const {
    return std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) {
        return block.memory.bytes > 0 && block.memory.place.is_on_device;
    });
}

/// One of the same size, whose elements lie side by side.
MPI_Datatype HostBlocks::dense(MPI_Datatype type) {
    const auto [found, is_new] = made_.try_emplace(type, type);
    if (!is_new) { return found->second; }
    const Datatype known = inspect(type);
    const bool is_dense = known.dense_element && known.true_lower_bound == 0 &&
                          known.extent == static_cast<MPI_Count>(known.size);
    if (is_dense || known.size == 0) { return type; }
    const Elements bytes(known.size);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_CALL(Type_contiguous, bytes.count(), bytes.type(), &made);
    found->second = made;
    MPI_CALL(Type_commit, &found->second);
    return found->second;
}

/// Another of the same size, whose elements all are the same few bytes of memory.
MPI_Datatype HostBlocks::upon_itself(MPI_Datatype type) {
    const auto [found, is_new] = made_.try_emplace(type, type);
    if (!is_new) { return found->second; }
    const uint64_t size = inspect(type).size;
    constexpr auto part = static_cast<int>(nowhere.size());
    std::array<MPI_Datatype, 3> parts = {MPI_DATATYPE_NULL, MPI_BYTE, MPI_DATATYPE_NULL};
    MPI_CALL(Type_create_hvector, static_cast<int>(size / part), part, 0, MPI_BYTE, parts.data());
    const std::array<int, 2> lengths = {1, static_cast<int>(size % part)};
    const std::array<MPI_Aint, 2> places = {0, 0};
    int code = mpi.Type_create_struct(2, lengths.data(), places.data(), parts.data(), &parts[2]);
    mpi.Type_free(parts.data());
    if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Type_create_struct"); }
    MPI_Datatype made = MPI_DATATYPE_NULL;
    code = mpi.Type_create_resized(parts[2], 0, 0, &made);
    mpi.Type_free(&parts[2]);
    if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Type_create_resized"); }
    found->second = made;
    MPI_CALL(Type_commit, &found->second);
    return made;
}

/// Side by side; how many bytes that takes.
uint64_t HostBlocks::place_blocks() {
    uint64_t bytes = 0;
    MPI_Aint elements = 0;
    for (const Block& block : blocks_) {
        const bool is_empty = block.count == 0; // then the datatype may be anything
        const uint64_t size = is_empty ? 0 : inspect(block.type).size;
        places_.push_back(bytes);
        displacements_.push_back(kind_ == Blocks::Kind::typed ? static_cast<MPI_Aint>(bytes)
                                                              : elements);
        bytes += static_cast<uint64_t>(block.count) * size;
        elements += static_cast<MPI_Aint>(block.count);
        // The application can say so much only of blocks that lie upon each other.
        has_room_ = has_room_ && (is_wide_ || displacements_.back() <= INT_MAX);
    }
    return bytes;
}

void HostBlocks::make() {
    const uint64_t bytes = place_blocks();
    try {
        if (has_room_) { memory_ = device::HostMemory(std::max<uint64_t>(bytes, 1)); }
    } catch (const std::bad_alloc&) { has_room_ = false; }
    if (!has_room_) {
        log(LogLevel::warn, "no memory of the host for {} bytes of a device", bytes);
        std::fill(displacements_.begin(), displacements_.end(), 0);
    }
    narrow_.assign(displacements_.begin(), displacements_.end());
    for (const Block& block : blocks_) {
        const bool is_nothing = block.count == 0 && kind_ == Blocks::Kind::typed;
        types_.push_back(is_nothing  ? MPI_BYTE
                         : has_room_ ? dense(block.type)
                                     : upon_itself(block.type));
    }
}

void* HostBlocks::buffer() const { return has_room_ ? memory_.data() : nowhere.data(); }

std::vector<UserMemory> HostBlocks::memories() const {
    std::vector<UserMemory> all;
    for (const Block& block : blocks_) { all.push_back(block.memory); }
    return all;
}

void HostBlocks::keep_types() {
    for (Block& block : blocks_) {
        if (block.memory.bytes > 0) { kept_.keep(block.memory); }
    }
}

void HostBlocks::look_again() {
    for (Block& block : blocks_) {
        UserMemory& memory = block.memory;
        if (memory.bytes > 0) { memory = user_memory(memory.address, memory.count, memory.type); }
    }
}

/// Once will do for all devices.
void HostBlocks::pin_for(const std::vector<UserMemory>& memories) const {
    const auto found = std::find_if(memories.begin(), memories.end(), [](const UserMemory& memory) {
        return memory.place.is_on_device;
    });
    if (found != memories.end()) { memory_.pin(found->place); }
}

int HostBlocks::load() const {
    if (!has_room_) { return MPI_ERR_NO_MEM; }
    int error = MPI_SUCCESS;
    std::vector<UserMemory> here = memories();
    const CopiedTogether small(here, &error);
    pin_for(here);
    for (size_t i = 0; i < here.size(); ++i) {
        try {
            pack_user_memory(here[i], at(i), self_communicator());
        } catch (const MpiError& failure) { error = failure.code; } catch (const std::bad_alloc&) {
            error = MPI_ERR_NO_MEM;
        }
    }
    return error;
}

void HostBlocks::store() const {
    if (!has_room_) { throw MpiError(MPI_ERR_NO_MEM, "memory of the host"); }
    std::vector<UserMemory> here = memories();
    const AreasOnHost small(here, AreasOnHost::small);
    small.replace(here);
    pin_for(here);
    for (size_t i = 0; i < here.size(); ++i) {
        unpack_user_memory(here[i], at(i), self_communicator());
    }
    small.store(self_communicator());
}

HostBuffers::HostBuffers(const ExchangeArguments& arguments, const BlockNumbers& numbers,
                         const Neighbors* neighbors)
    : is_in_place_(arguments.is_in_place()) {
    if (!is_in_place_) {
        sent_.list(arguments.sent, numbers.sent,
                   neighbors == nullptr ? nullptr : &neighbors->destinations);
    }
    received_.list(arguments.received, numbers.received,
                   neighbors == nullptr ? nullptr : &neighbors->sources);
    has_sent_ = sent_.are_needed();
    has_received_ = received_.are_needed();
}

void HostBuffers::make() {
    if (has_sent_) { sent_.make(); }
    if (has_received_) { received_.make(); }
}

void HostBuffers::keep_types() {
    if (has_sent_) { sent_.keep_types(); }
    if (has_received_) { received_.keep_types(); }
}

void HostBuffers::look_again() {
    if (has_sent_) { sent_.look_again(); }
    if (has_received_) { received_.look_again(); }
}

void HostBuffers::begin() {
    error_ = MPI_SUCCESS;
    try {
        if (has_sent_) { error_ = sent_.load(); }
        if (is_in_place_ && has_received_) { error_ = received_.load(); }
    } catch (const MpiError& failure) { error_ = failure.code; } catch (const std::bad_alloc&) {
        error_ = MPI_ERR_NO_MEM;
    }
}

int HostBuffers::finish(int code) {
    if (code != MPI_SUCCESS) { return code; }
    if (!has_received_) { return error_; }
    try {
        received_.store();
    } catch (const MpiError& failure) { error_ = failure.code; } catch (const std::bad_alloc&) {
        error_ = MPI_ERR_NO_MEM;
    }
    return error_;
}

} // namespace nodeaware
