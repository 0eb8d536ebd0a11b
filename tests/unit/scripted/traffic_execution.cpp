#include "tests/unit/scripted/traffic.hpp"

#include <algorithm>
#include <list>

namespace scripted {

namespace {

using Mode = Planned::Mode;

/// Memory of a message, side by side or with a gap, and back.
class Memory {
  public:
    Memory(int bytes, bool is_gapped) : bytes_(bytes), type_(MPI_BYTE) {
        if (is_gapped) { type_ = make_gapped(bytes); }
        memory_.resize(static_cast<size_t>(bytes) + (is_gapped ? 8 : 0), std::byte{0xee});
    }
    ~Memory() {
        if (type_ != MPI_BYTE) { free_type(&type_); }
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    void* data() { return memory_.data(); }
    int count() const { return type_ == MPI_BYTE ? bytes_ : 1; }
    MPI_Datatype type() const { return type_; }
    void put(const std::vector<std::byte>& bytes) {
        unpack(bytes, memory_.data(), count(), *job().type(type_));
    }
    std::vector<std::byte> get() const {
        return packed(memory_.data(), count(), *job().type(type_));
    }

  private:
    int bytes_;
    MPI_Datatype type_;
    std::vector<std::byte> memory_;
};

/// One rank in a round.
class Execution {
  public:
    Execution(Rank& rank, const Round& round, Record& record, Random random)
        : rank_(rank), round_(round), record_(record), random_(random) {}

    void run() {
        const auto own = static_cast<size_t>(rank_.number());
        for (const Awaited& awaited : round_.receives[own]) {
            if (!awaited.is_late) { post(awaited); }
        }
        if (random_.one_in(3)) { post_in_vain(); }
        for (const Planned& message : round_.sends[own]) { send(message); }
        if (round_.has_gather) { rank_.gather(MPI_COMM_WORLD); }
        for (const Awaited& awaited : round_.receives[own]) {
            if (awaited.is_late) { receive_late(awaited); }
        }
        wait();
        tell();
        if (round_.has_barrier) { rank_.barrier(MPI_COMM_WORLD); }
    }

  private:
    struct Receive {
        Awaited pattern;
        Memory memory;
        size_t position;
        MPI_Status status{};
        explicit Receive(const Awaited& awaited, size_t order)
            : pattern(awaited), memory(awaited.bytes, awaited.is_gapped), position(order) {}
    };

    Receive& add(const Awaited& awaited) { return receives_.emplace_back(awaited, ++position_); }
    MPI_Request* add_request(Receive* receive) {
        of_request_.push_back(receive);
        return &requests_.emplace_back(MPI_REQUEST_NULL);
    }

    void post(const Awaited& awaited) {
        Receive& receive = add(awaited);
        rank_.irecv(receive.memory.data(), receive.memory.count(), receive.memory.type(),
                    awaited.source, awaited.tag, MPI_COMM_WORLD, add_request(&receive));
    }

    /// A receive that nothing comes for; it is cancelled in the end.
    void post_in_vain() {
        const int source =
            random_.one_in(2) ? MPI_ANY_SOURCE : random_.between(0, rank_.size() - 1);
        rank_.irecv(&vain_word_, 1, MPI_INT, source, 1000, MPI_COMM_WORLD, &vain_);
    }

    void send(const Planned& message) {
        Memory& memory = sent_.emplace_back(message.bytes, message.is_gapped);
        memory.put(bytes_of(message));
        record_.sent(message);
        void* const data = memory.data();
        const int count = memory.count();
        const MPI_Datatype type = memory.type();
        const int peer = message.destination;
        const MPI_Comm comm = MPI_COMM_WORLD;
        switch (message.mode) {
        case Mode::send: rank_.send(data, count, type, peer, message.tag, comm); break;
        case Mode::ssend: rank_.ssend(data, count, type, peer, message.tag, comm); break;
        case Mode::bsend: rank_.bsend(data, count, type, peer, message.tag, comm); break;
        case Mode::isend:
            rank_.isend(data, count, type, peer, message.tag, comm, add_request(nullptr));
            return;
        case Mode::issend:
            rank_.issend(data, count, type, peer, message.tag, comm, add_request(nullptr));
            return;
        }
        memory.put(std::vector<std::byte>(static_cast<size_t>(message.bytes))); // may be used again
    }

    void receive_late(const Awaited& awaited) {
        Receive& receive = add(awaited);
        Memory& memory = receive.memory;
        const MPI_Comm comm = MPI_COMM_WORLD;
        MPI_Status status{};
        MPI_Message message = MPI_MESSAGE_NULL;
        int source = awaited.source;
        int tag = awaited.tag;
        switch (random_.below(5)) {
        case 0: rank_.probe(source, tag, comm, &status); break;
        case 1:
            for (int flag = 0; flag == 0;) { rank_.iprobe(source, tag, comm, &flag, &status); }
            break;
        case 2:
            rank_.mprobe(source, tag, comm, &message, &status);
            rank_.mrecv(memory.data(), memory.count(), memory.type(), &message, &receive.status);
            return;
        case 3:
            rank_.mprobe(source, tag, comm, &message, &status);
            rank_.imrecv(memory.data(), memory.count(), memory.type(), &message,
                         add_request(&receive));
            return;
        default:
            rank_.recv(memory.data(), memory.count(), memory.type(), source, tag, comm,
                       &receive.status);
            return;
        }
        source = status.MPI_SOURCE; // what was seen is what must come now
        tag = status.MPI_TAG;
        rank_.recv(memory.data(), memory.count(), memory.type(), source, tag, comm,
                   &receive.status);
    }

    void keep(size_t index, const MPI_Status& status) {
        if (of_request_[index] != nullptr) { of_request_[index]->status = status; }
    }

    void wait() {
        const auto count = static_cast<int>(requests_.size());
        std::vector<MPI_Status> statuses(requests_.size() + 1);
        std::vector<int> indices(requests_.size() + 1);
        switch (random_.below(5)) {
        case 0:
            for (size_t i = 0; i < requests_.size(); ++i) {
                rank_.wait(&requests_[i], &statuses[0]);
                keep(i, statuses[0]);
            }
            break;
        case 1:
            rank_.waitall(count, requests_.data(), statuses.data());
            for (size_t i = 0; i < requests_.size(); ++i) { keep(i, statuses[i]); }
            break;
        case 2:
            for (int flag = 0; flag == 0;) {
                rank_.testall(count, requests_.data(), &flag, statuses.data());
            }
            for (size_t i = 0; i < requests_.size(); ++i) { keep(i, statuses[i]); }
            break;
        case 3:
            for (int index = 0; index != MPI_UNDEFINED;) {
                rank_.waitany(count, requests_.data(), &index, &statuses[0]);
                if (index != MPI_UNDEFINED) { keep(static_cast<size_t>(index), statuses[0]); }
            }
            break;
        default:
            for (int done = 0; done != MPI_UNDEFINED;) {
                rank_.waitsome(count, requests_.data(), &done, indices.data(), statuses.data());
                for (int i = 0; i < done; ++i) {
                    const auto at = static_cast<size_t>(i);
                    keep(static_cast<size_t>(indices[at]), statuses[at]);
                }
            }
        }
        if (vain_ == MPI_REQUEST_NULL) { return; }
        int is_cancelled = 0;
        rank_.cancel(&vain_);
        rank_.wait(&vain_, &statuses[0]);
        mpi().Test_cancelled(&statuses[0], &is_cancelled);
        if (is_cancelled == 0) { job().complain("a receive could not be cancelled"); }
    }

    void tell() {
        for (const Receive& receive : receives_) {
            record_.received(rank_.number(), receive.pattern, receive.position, receive.status,
                             receive.memory.get());
        }
    }

    Rank& rank_;
    const Round& round_;
    Record& record_;
    Random random_;
    std::list<Receive> receives_;
    std::list<Memory> sent_;
    std::vector<MPI_Request> requests_;
    std::vector<Receive*> of_request_;
    size_t position_ = 0;
    MPI_Request vain_ = MPI_REQUEST_NULL;
    int vain_word_ = 0;
};

} // namespace

void execute(Rank& rank, const Round& round, Record& record, Random random) {
    Execution(rank, round, record, random).run();
}

} // namespace scripted
