#include "runtime/core/recorded_calls.hpp"

#include "runtime/core/recorded_communicators.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/device/memory.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

namespace nodeaware::recorded_calls {

namespace {

using recorded_communicators::Known;
using trace::Block;
using trace::Contents;

/// What the start of a persistent request means.
struct Persistent {
    bool is_exchange = false;
    int pattern = Contents::no_pattern; ///< of an exchange
    int communicator = trace::no_communicator;
    int peer = 0;
    uint64_t bytes = 0;
};

/// Persistent requests of exchanges and sends. What is beyond the limit is not followed.
class PersistentRequests {
  public:
    void add(MPI_Request request, const Persistent& persistent) {
        constexpr size_t most = 16384;
        const std::lock_guard guard(mutex_);
        if (known_.size() < most) { known_.insert_or_assign(request, persistent); }
    }
    void forget(MPI_Request request) {
        const std::lock_guard guard(mutex_);
        known_.erase(request);
    }
    std::optional<Persistent> find(MPI_Request request) {
        const std::lock_guard guard(mutex_);
        const auto found = known_.find(request);
        return found == known_.end() ? std::nullopt : std::optional(found->second);
    }

  private:
    std::mutex mutex_;
    std::map<MPI_Request, Persistent> known_;
};

/// Never destroyed: programs call MPI_Finalize also after destructors have run.
PersistentRequests& persistent_requests() {
    static auto* const requests = new PersistentRequests;
    return *requests;
}

trace::Memory memory_of(const void* address) {
    device::look_for_driver();
    if (device::driver() == nullptr) { return trace::Memory::host; }
    if (address == nullptr || address == MPI_IN_PLACE) { return trace::Memory::unknown; }
    const device::Place place = device::locate(address);
    if (place.is_unknown) { return trace::Memory::unknown; }
    return place.is_on_device ? trace::Memory::device : trace::Memory::host;
}

uint64_t bytes_of(MPI_Datatype type) {
    MPI_Count bytes = 0;
    MPI_CALL(Type_size_x, type, &bytes);
    return bytes < 0 ? 0 : static_cast<uint64_t>(bytes);
}

trace::Call call_of(const Made& made, int communicator, trace::Memory memory) {
    return {made.function, made.site, communicator, memory, made.begin, made.end};
}

/// Nothing is thrown into the application.
template <class Work> void guarded(Work work) {
    try {
        work();
    } catch (const std::exception&) { return; }
}

/// Bytes of one block after the other; programs often use the same datatype for all.
class BlockSizes {
  public:
    explicit BlockSizes(const Blocks& blocks) : blocks_(blocks) {}
    uint64_t at(int i) {
        const MPI_Count count = blocks_.count_of(i);
        if (count <= 0) { return 0; } // the datatype may be anything
        const MPI_Datatype type = blocks_.type_of(i);
        if (!is_known_ || type != type_) {
            bytes_ = bytes_of(type);
            type_ = type;
            is_known_ = true;
        }
        return static_cast<uint64_t>(count) * bytes_;
    }

  private:
    const Blocks& blocks_;
    bool is_known_ = false;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    uint64_t bytes_ = 0;
};

void list_blocks(const ExchangeArguments& arguments, MPI_Comm comm, const Known& known,
                 std::vector<Block>& list) {
    BlockSizes sizes(arguments.is_in_place() ? arguments.received : arguments.sent);
    const auto add = [&](int peer, uint64_t bytes) {
        if (bytes > 0 && peer != MPI_PROC_NULL) { list.push_back({peer, bytes}); }
    };
    if (arguments.is_with_neighbors) {
        const auto peers = recorded_communicators::destinations(comm, known);
        for (size_t i = 0; i < peers.size(); ++i) { add(peers[i], sizes.at(static_cast<int>(i))); }
        return;
    }
    const bool is_uniform = arguments.received.kind == Blocks::Kind::uniform;
    if (is_uniform) { // MPI_PROC_NULL may have the same number
        if (sizes.at(0) > 0) { list.push_back({Block::every_rank, sizes.at(0)}); }
        return;
    }
    for (int peer = 0; peer < known.size; ++peer) { add(peer, sizes.at(peer)); }
}

} // namespace

void exchange(const Made& made, MPI_Comm comm, const ExchangeArguments& arguments, Form form,
              const MPI_Request* request) {
    guarded([&] {
        std::vector<Block> blocks;
        const Known known = recorded_communicators::find(comm);
        const Blocks& sent = arguments.is_in_place() ? arguments.received : arguments.sent;
        list_blocks(arguments, comm, known, blocks);
        const bool has_one_type = sent.kind != Blocks::Kind::typed && !blocks.empty();
        const uint64_t type_bytes = has_one_type ? bytes_of(sent.type) : 0;
        const trace::Call call = call_of(made, known.number, memory_of(sent.buffer));
        int pattern = Contents::no_pattern;
        trace::recorder->record(made.end, [&](Contents& contents) {
            pattern = contents.add_exchange(call, type_bytes, blocks, form == Form::persistent);
        });
        if (form == Form::persistent && request != nullptr) {
            persistent_requests().add(*request, {true, pattern, known.number, 0, 0});
        }
    });
}

void send(const Made& made, const Buffer& buffer, int peer, MPI_Comm comm,
          const MPI_Request* persistent) {
    guarded([&] {
        const int number = recorded_communicators::find(comm).number;
        const uint64_t bytes =
            buffer.count > 0 ? static_cast<uint64_t>(buffer.count) * bytes_of(buffer.type) : 0;
        const trace::Call call = call_of(made, number, memory_of(buffer.address));
        const bool is_message = peer != MPI_PROC_NULL && persistent == nullptr;
        trace::recorder->record(made.end, [&](Contents& contents) {
            is_message ? contents.add_send(call, peer, bytes) : contents.add_call(call);
        });
        if (persistent != nullptr && peer != MPI_PROC_NULL) {
            persistent_requests().add(*persistent,
                                      {false, Contents::no_pattern, number, peer, bytes});
        }
    });
}

void receive(const Made& made, int source, int tag, MPI_Comm comm, bool is_also_send) {
    guarded([&] {
        const int number = recorded_communicators::find(comm).number;
        trace::recorder->record(made.end, [&](Contents& contents) {
            if (!is_also_send) { contents.add_call(call_of(made, number, trace::Memory::unknown)); }
            if (source == MPI_PROC_NULL) { return; }
            contents.add_receive(number, source == MPI_ANY_SOURCE, tag == MPI_ANY_TAG);
        });
    });
}

void other(const Made& made, bool is_event) {
    const trace::Call call = call_of(made, trace::no_communicator, trace::Memory::unknown);
    trace::recorder->record(made.end,
                            [&](Contents& contents) { contents.add_call(call, is_event); });
}

void meeting(const Made& made, MPI_Comm comm) {
    guarded([&] {
        const int number = recorded_communicators::find(comm).number;
        const trace::Call call = call_of(made, number, trace::Memory::unknown);
        trace::recorder->record(made.end, [&](Contents& contents) { contents.add_call(call); });
    });
}

void start(const Made& made, int count, const MPI_Request* requests) {
    trace::Sums sent;
    trace::recorder->record(made.end, [&](Contents& contents) {
        for (int i = 0; requests != nullptr && i < count; ++i) {
            const auto found = persistent_requests().find(requests[i]);
            if (!found) { continue; }
            trace::Sums sums{1, found->bytes};
            if (found->is_exchange) {
                sums = contents.add_start(found->pattern, made.begin, made.end);
            } else {
                contents.add_message(found->communicator, found->peer, found->bytes);
            }
            sent.messages += sums.messages;
            sent.bytes += sums.bytes;
        }
        contents.add_call(call_of(made, trace::no_communicator, trace::Memory::unknown), true,
                          sent);
    });
}

void forget(MPI_Request request) { persistent_requests().forget(request); }

} // namespace nodeaware::recorded_calls
