#include "runtime/core/recorded_calls.hpp"

#include "runtime/core/recorded_collectives.hpp"
#include "runtime/core/recorded_communicators.hpp"
#include "runtime/core/recorded_requests.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/device/memory.hpp"
#include "runtime/point_to_point/message_counts.hpp"
#include "runtime/trace/purpose.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

namespace nodeaware::recorded_calls {

namespace {

using recorded_communicators::Known;
using trace::Block;
using trace::Contents;

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

/// Finds blocks that are sent from the same memory. Where each begins behind the one before, as in
/// most programs, there are none.
class SameMemory {
  public:
    explicit SameMemory(const Blocks& blocks)
        : blocks_(blocks), can_be_(!blocks.displacements.is_null()) {}

    /// Block i of the call, which is the next one in the trace.
    void add(int i) {
        if (!can_be_) { return; }
        const Key key{blocks_.displacements[i], blocks_.count_of(i), blocks_.type_of(i),
                      static_cast<int>(keys_.size())};
        is_ascending_ =
            is_ascending_ && (keys_.empty() || std::get<0>(key) > std::get<0>(keys_.back()));
        keys_.push_back(key);
    }

    /// As trace::Pattern has it.
    trace::Firsts data() {
        if (is_ascending_) { return {}; }
        std::sort(keys_.begin(), keys_.end());
        trace::Firsts data(keys_.size());
        bool is_any = false;
        for (size_t i = 0; i < keys_.size(); ++i) {
            const auto& [place, count, type, number] = keys_[i];
            const bool is_same = i > 0 && std::tie(place, count, type) == memory_of(keys_[i - 1]);
            is_any = is_any || is_same;
            data[static_cast<size_t>(number)] =
                is_same ? data[static_cast<size_t>(std::get<3>(keys_[i - 1]))] : number;
        }
        return is_any ? data : trace::Firsts();
    }

  private:
    /// Where, how many, of which datatype, and the number of the block.
    using Key = std::tuple<MPI_Count, MPI_Count, MPI_Datatype, int>;
    static std::tuple<MPI_Count, MPI_Count, MPI_Datatype> memory_of(const Key& key) {
        return {std::get<0>(key), std::get<1>(key), std::get<2>(key)};
    }

    const Blocks& blocks_;
    bool can_be_;
    bool is_ascending_ = true;
    std::vector<Key> keys_;
};

/// Tells `visit` what each rank gets, if it gets anything: the rank, the block of the call, and its
/// bytes.
template <class Visit>
void visit_blocks(const ExchangeArguments& arguments, MPI_Comm comm, const Known& known,
                  Visit visit) {
    BlockSizes sizes(arguments.is_in_place() ? arguments.received : arguments.sent);
    const auto look = [&](int peer, int i) {
        const uint64_t bytes = sizes.at(i);
        if (bytes > 0 && peer != MPI_PROC_NULL) { visit(peer, i, bytes); }
    };
    if (arguments.is_with_neighbors) {
        const auto peers = recorded_communicators::destinations(comm, known);
        for (size_t i = 0; i < peers.size(); ++i) { look(peers[i], static_cast<int>(i)); }
        return;
    }
    for (int peer = 0; peer < known.size; ++peer) { look(peer, peer); }
}

void list_blocks(const ExchangeArguments& arguments, MPI_Comm comm, const Known& known,
                 std::vector<Block>& list, SameMemory& memory) {
    const bool is_uniform = arguments.received.kind == Blocks::Kind::uniform;
    if (is_uniform && !arguments.is_with_neighbors) { // MPI_PROC_NULL may have the same number
        const Blocks& sent = arguments.is_in_place() ? arguments.received : arguments.sent;
        const uint64_t bytes = BlockSizes(sent).at(0);
        if (bytes > 0) { list.push_back({Block::every_rank, bytes}); }
        return;
    }
    visit_blocks(arguments, comm, known, [&](int peer, int i, uint64_t bytes) {
        list.push_back({peer, bytes});
        memory.add(i);
    });
}

/// Compares the blocks of a call that sends from the host: MPI has read them, or still does. Empty:
/// nothing can be said.
trace::Firsts equal_blocks(const ExchangeArguments& arguments, MPI_Comm comm, const Known& known,
                           const trace::Firsts& data, uint64_t sample) {
    try {
        std::vector<trace::BlockBytes> blocks;
        BlockReader reader(arguments.sent, device::Place());
        visit_blocks(arguments, comm, known, [&](int /*peer*/, int i, uint64_t bytes) {
            blocks.push_back({reader.at(i).dense, bytes});
        });
        return trace::equal_blocks(blocks, data, sample);
    } catch (const std::exception&) { return {}; } // and is not tried again
}

} // namespace

void exchange(const Made& made, std::string_view strategy, MPI_Comm comm,
              const ExchangeArguments& arguments, Form form, const MPI_Request* request) {
    guarded([&] {
        std::vector<Block> blocks;
        const Known known = recorded_communicators::find(comm);
        const Blocks& sent = arguments.is_in_place() ? arguments.received : arguments.sent;
        SameMemory memory(sent);
        if (trace::recorder->has_file()) { list_blocks(arguments, comm, known, blocks, memory); }
        const trace::Firsts data = memory.data();
        const bool has_one_type = sent.kind != Blocks::Kind::typed && !blocks.empty();
        const uint64_t type_bytes = has_one_type ? bytes_of(sent.type) : 0;
        trace::Call call = call_of(made, known.number, memory_of(sent.buffer));
        call.type_bytes = type_bytes;
        // Not where what was sent has been overwritten, is not there yet, or is one block for all.
        const bool can_be_read = call.memory == trace::Memory::host &&
                                 arguments.sent.buffer != MPI_IN_PLACE &&
                                 form != Form::persistent && sent.kind != Blocks::Kind::one;
        int pattern = Contents::no_pattern;
        std::optional<uint64_t> sample;
        trace::recorder->record(made.end, [&](Contents& contents) {
            pattern =
                contents.add_exchange(call, type_bytes, blocks, form == Form::persistent, data);
            if (form != Form::persistent) { contents.add_way(known.number, strategy); }
            if (can_be_read) { sample = contents.next_sample(pattern); }
        });
        if (sample) {
            const auto firsts = equal_blocks(arguments, comm, known, data, *sample);
            trace::recorder->record(
                0, [&](Contents& contents) { contents.add_sample(pattern, firsts); });
        }
        if (request != nullptr) {
            const bool is_persistent = form == Form::persistent;
            recorded_requests::add(*request,
                                   {true, is_persistent, pattern, known.number, 0, 0, strategy});
        }
    });
}

void send(const Made& made, const Buffer& buffer, int peer, MPI_Comm comm,
          const MPI_Request* persistent) {
    guarded([&] {
        const int number = recorded_communicators::find(comm).number;
        trace::Call call = call_of(made, number, memory_of(buffer.address));
        call.type_bytes = buffer.count > 0 ? bytes_of(buffer.type) : 0;
        const uint64_t bytes = buffer.count > 0 ? uint64_t(buffer.count) * call.type_bytes : 0;
        call.peer = peer == MPI_PROC_NULL ? trace::no_peer : peer;
        const bool is_message = peer != MPI_PROC_NULL && persistent == nullptr;
        trace::recorder->record(made.end, [&](Contents& contents) {
            is_message ? contents.add_send(call, peer, bytes) : contents.add_call(call);
        });
        if (persistent != nullptr && peer != MPI_PROC_NULL) {
            recorded_requests::add(*persistent,
                                   {false, true, Contents::no_pattern, number, peer, bytes, {}});
        }
    });
}

void receive(const Made& made, int source, int tag, MPI_Comm comm, bool is_also_send) {
    guarded([&] {
        const int number = recorded_communicators::find(comm).number;
        trace::recorder->record(made.end, [&](Contents& contents) {
            trace::Call call = call_of(made, number, trace::Memory::unknown);
            const bool is_from_one = source != MPI_PROC_NULL && source != MPI_ANY_SOURCE;
            call.peer = is_from_one ? source : trace::no_peer;
            if (!is_also_send) { contents.add_call(call); }
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

void collective(const Made& made, MPI_Comm comm, const abi::Passed* passed) {
    guarded([&] {
        const Known known = recorded_communicators::find(comm);
        trace::Call call = call_of(made, known.number, trace::Memory::unknown);
        std::vector<Block> blocks;
        if (passed != nullptr && trace::recorder->has_file()) {
            recorded_collectives::Given given = recorded_collectives::given_by(*passed, known);
            blocks = std::move(given.blocks);
            call.type_bytes = given.type_bytes;
        }
        if (!blocks.empty()) { call.memory = memory_of(passed->buffer); }
        trace::recorder->record(made.end,
                                [&](Contents& contents) { contents.add_collective(call, blocks); });
    });
}

void start(const Made& made, int count, const MPI_Request* requests) {
    trace::Sums sent;
    trace::recorder->record(made.end, [&](Contents& contents) {
        for (int i = 0; requests != nullptr && i < count; ++i) {
            const auto found = recorded_requests::find(requests[i]);
            if (!found) { continue; }
            trace::Sums sums{1, found->bytes};
            if (found->is_exchange) {
                sums = contents.add_start(found->pattern, made.begin, made.end);
                contents.add_way(found->communicator, found->strategy);
            } else {
                contents.add_message(found->communicator, found->peer, found->bytes);
                Made message = made;
                message.function = trace::started_send(made.function);
                trace::Call call = call_of(message, found->communicator, trace::Memory::unknown);
                call.peer = found->peer;
                contents.add_event(call, found->bytes);
            }
            sent.messages += sums.messages;
            sent.bytes += sums.bytes;
        }
        contents.add_call(call_of(made, trace::no_communicator, trace::Memory::unknown), true,
                          sent);
    });
}

void note_messages() {
    if (trace::recorder == nullptr) { return; }
    trace::recorder->record(0, [](Contents& contents) {
        for (const Report::Note& note : message_counts::notes()) {
            if (note.value > 0) { contents.add_note({note.text, note.value}); }
        }
    });
}

void waiting(const Made& made, const std::vector<int>& patterns, bool is_event) {
    const trace::Call call = call_of(made, trace::no_communicator, trace::Memory::unknown);
    trace::recorder->record(made.end, [&](Contents& contents) {
        contents.add_call(call, is_event);
        contents.add_waiting(patterns, made.end - made.begin);
    });
}

} // namespace nodeaware::recorded_calls
