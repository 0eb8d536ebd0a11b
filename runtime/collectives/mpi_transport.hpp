#pragma once

#include "runtime/collectives/execution.hpp"
#include "runtime/device/host_memory.hpp"
#include "runtime/device/late_copies.hpp"
#include "runtime/memory/exchange.hpp"
#include "runtime/memory/step_memory.hpp"
#include "runtime/mpi/tags.hpp"

#include <functional>
#include <new>
#include <span>
#include <unordered_map>
#include <vector>

namespace nodeaware {

/// The Transport of Execution that moves the bytes of an application: user memory, memory of the
/// operation and MPI messages on a private communicator. Copies of memory of devices end later, and
/// messages that wait for them begin later; all else is done at once. Failures do not stop an
/// execution, for other ranks wait for its signals; the first is kept.
class MpiTransport {
  public:
    MpiTransport(MPI_Comm comm, const Topology& topology, StepMemory& memory,
                 const Exchange& exchange, const tags::Tags& tags)
        : comm_(comm), topology_(topology), memory_(memory), exchange_(exchange), tags_(tags),
          error_(exchange.error) {}

    /// Memory for so many requests, so that none can be lost for the lack of it.
    void reserve(size_t requests);

    std::byte* arena() { return memory_.data(); }
    uint32_t counter(int32_t number) const { return memory_.counter(number); }
    void signal(int32_t number, uint32_t wakes_at) { memory_.signal(number, wakes_at); }

    bool pack(uint32_t item, uint64_t offset, uint64_t bytes, std::byte* to, uint32_t step);
    bool unpack(uint32_t item, uint64_t offset, uint64_t bytes, const std::byte* from,
                uint32_t step);
    bool copy(uint32_t item, uint32_t other_item, uint64_t bytes, uint32_t step);
    bool stage(uint32_t item, uint64_t offset, uint64_t bytes, uint64_t slab, uint32_t step);
    bool fetch(int peer, uint64_t slab, uint64_t bytes, std::byte* to, uint32_t step);
    /// Those that the schedule was made for: by local rank, as long as this.
    void use_slabs(const std::vector<uint64_t>& slabs) { slabs_ = &slabs; }
    /// Waits for the copies that have begun, and begins the messages that wait for them: what
    /// others need of this rank until it comes again.
    void settle() {
        while (packing_ > 0 || !held_sends_.empty()) { finish_copies(); }
    }

    void send(int peer, const std::byte* data, uint64_t bytes, uint32_t step);
    void receive(int peer, std::byte* to, uint64_t capacity, uint32_t step);
    void send_carrier(int peer, const std::byte* data, uint64_t bytes, uint32_t step);
    void receive_carrier(int peer, std::byte* to, uint64_t capacity, uint32_t step);
    void send_item(int peer, uint32_t item, uint32_t step);
    void receive_item(int peer, uint32_t item, uint32_t step);
    std::span<const FinishedStep> poll();

    void mismatch(int peer);

    /// For ranks that have waited long: where the counts of the application do not match, the two
    /// nodes may wait for different messages. Receives and forgets a message with `tag` that nobody
    /// here expects, so that its sender can go on; returns the rank that it came from, or -1 if
    /// there is none. `will_come` tells if a receive for such a message from that rank has yet to
    /// begin.
    int discard_stray(int tag, const std::function<bool(int source)>& will_come);
    /// Ends receives from nodes that ranks of this node have given up on.
    void cancel_given_up();

    /// MPI_SUCCESS or the code of the first failure.
    int error() const { return error_; }

  protected:
    void fail(int code);
    /// A whole message, wherever it is; over when these return.
    void pack_now(uint32_t item, std::byte* to);
    void unpack_now(uint32_t item, const std::byte* from);
    /// Runs `work` and keeps the error that it throws.
    template <class Work> void guarded(Work work) {
        try {
            work();
        } catch (const MpiError& error) { fail(error.code); } catch (const std::bad_alloc&) {
            fail(MPI_ERR_NO_MEM);
        }
    }

  private:
    struct Pending {
        uint32_t step;
        int source; ///< of a receive, else -1
        /// Carriers come from every node, also where nothing else is expected from it any more.
        bool comes_anyway = false;
    };
    /// Bytes from or to the memory of a device, on their way: of a message, where this MPI does not
    /// know such memory, or from one memory of this rank to another.
    struct ByHost {
        device::HostMemory bytes;
        const UserMemory* to = nullptr; ///< where they go from here; nullptr: they are sent
        uint64_t size = 0;              ///< of those that go there
        bool are_here = false;
    };
    /// A direct message that has to wait, for its bytes or for one before it to the same rank.
    struct HeldSend {
        int peer;
        uint32_t item;
        uint32_t step;
    };

    void begun(int code, MPI_Request request, const Pending& pending);
    FinishedStep finished_step(const Pending& pending, const MPI_Status& status, bool has_error);
    bool is_given_up(int peer) const { return memory_.given_up(topology_.node_of(peer)); }

    void copy_on_host(uint32_t item, uint32_t other_item, uint64_t bytes);
    void copy_later(const UserMemory& memory, const device::LateCopies::Copy& copy, uint32_t step);
    bool copy_in_runs(const UserMemory& memory, device::LateCopies::Copy copy, uint32_t step);
    bool fetch(const UserMemory& memory, ByHost& held, uint32_t step);
    bool deliver(ByHost& held, uint32_t step);
    void finish_copies();
    void end_copies();
    void end_copy(uint32_t step);
    bool is_behind_another(int peer) const;
    bool is_held(const HeldSend& send) const;
    void begin_held_sends();
    int begin_direct(const HeldSend& send, MPI_Request* request);
    int receive_by_host(const UserMemory& memory, int peer, uint32_t step, MPI_Request* request);
    bool end_receive_by_host(const FinishedStep& finished);

    MPI_Comm comm_;
    const Topology& topology_;
    StepMemory& memory_;
    const Exchange& exchange_;
    tags::Tags tags_;
    int error_;

    std::vector<MPI_Request> requests_;
    std::vector<Pending> pending_; ///< of requests_, one by one
    uint32_t seen_given_up_ = 0;
    std::vector<int> indices_;
    std::vector<MPI_Status> statuses_;
    std::vector<FinishedStep> finished_;
    std::vector<FinishedStep> untold_; ///< finished_ of the next poll()

    /// Packed copies of messages with scattered bytes that travel in parts.
    struct Staged {
        std::vector<std::byte> bytes;
        uint64_t done = 0;
    };
    std::unordered_map<uint32_t, Staged> staged_outgoing_;
    std::unordered_map<uint32_t, Staged> staged_incoming_;

    std::unordered_map<uint32_t, ByHost> by_host_; ///< by step
    const std::vector<uint64_t>* slabs_ = nullptr;
    std::vector<HeldSend> held_sends_; ///< in the order in which they begin
    uint32_t packing_ = 0;             ///< copies that no step stands for
    /// Of messages with gaps.
    std::unordered_map<const UserMemory*, device::Runs> runs_;
    device::LateCopies copies_; ///< ends before all else that it uses
};

} // namespace nodeaware
