#include "runtime/collectives/host_buffers.hpp"

#include "runtime/communicators/self_communicator.hpp"
#include "runtime/memory/areas_on_host.hpp"
#include "runtime/memory/copied_together.hpp"
#include "runtime/memory/elements.hpp"

#include <climits>

#include <algorithm>
#include <new>

namespace nodeaware {

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

void HostBlocks::make() {
    uint64_t bytes = 0;
    MPI_Aint elements = 0;
    const bool in_bytes = kind_ == Blocks::Kind::typed;
    for (const Block& block : blocks_) {
        const bool is_empty = block.count == 0; // then the datatype may be anything
        types_.push_back(is_empty && in_bytes ? MPI_BYTE : dense(block.type));
        const uint64_t size = is_empty ? 0 : inspect(block.type).size;
        places_.push_back(bytes);
        displacements_.push_back(in_bytes ? static_cast<MPI_Aint>(bytes) : elements);
        bytes += static_cast<uint64_t>(block.count) * size;
        elements += static_cast<MPI_Aint>(block.count);
        narrow_.push_back(static_cast<int>(displacements_.back()));
        // The application can say so much only of blocks that lie upon each other.
        const bool is_said = !is_wide_ && displacements_.back() > INT_MAX;
        if (is_said) { throw MpiError(MPI_ERR_NO_MEM, "displacements on the host"); }
    }
    memory_ = device::HostMemory(std::max<uint64_t>(bytes, 1));
}

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
