#include "runtime/collectives/sparse_call.hpp"

#include "runtime/collectives/sparse_context.hpp"
#include "runtime/collectives/sparse_locality.hpp"
#include "runtime/collectives/sparse_plain.hpp"
#include "runtime/communicators/communicator.hpp"
#include "runtime/job/log.hpp"
#include "runtime/mpi/errors_return.hpp"

#include <climits>

#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

namespace nodeaware::sparse {

namespace {

/// An array for the application, which frees it; never nullptr, and all zero.
template <class Value> class Given {
  public:
    explicit Given(uint64_t count)
        : memory_(static_cast<Value*>(std::calloc(count == 0 ? 1 : count, sizeof(Value)))) {
        if (memory_ == nullptr) { throw std::bad_alloc(); }
    }
    ~Given() { std::free(memory_); }
    Given(const Given&) = delete;
    Given& operator=(const Given&) = delete;

    Value* get() const { return memory_; }
    Value& operator[](size_t i) { return memory_[i]; }
    Value* release() { return std::exchange(memory_, nullptr); }

  private:
    Value* memory_;
};

int communicator_error(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) { return MPI_ERR_COMM; }
    int is_inter = 0;
    MPI_CALL(Comm_test_inter, comm, &is_inter);
    return is_inter != 0 ? MPI_ERR_COMM : MPI_SUCCESS;
}

int message_error(const Sent& sent, int i, int ranks) {
    if (sent.destinations[i] < 0 || sent.destinations[i] >= ranks) { return MPI_ERR_RANK; }
    if (!sent.has_counts) { return MPI_SUCCESS; }
    const int64_t begin = sent.displacements[i];
    if (sent.counts[i] < 0) { return MPI_ERR_COUNT; }
    return begin < 0 || begin + sent.counts[i] > sent.size ? MPI_ERR_ARG : MPI_SUCCESS;
}

int sent_error(const Sent& sent, MPI_Comm comm) {
    if (sent.messages < 0 || sent.count < 0 || sent.size < 0) { return MPI_ERR_COUNT; }
    if (sent.type == MPI_DATATYPE_NULL) { return MPI_ERR_TYPE; }
    if (sent.messages == 0) { return MPI_SUCCESS; }
    if (sent.destinations == nullptr) { return MPI_ERR_ARG; }
    if (sent.has_counts && (sent.counts == nullptr || sent.displacements == nullptr)) {
        return MPI_ERR_ARG;
    }
    int ranks = 0;
    MPI_CALL(Comm_size, comm, &ranks);
    bool has_elements = !sent.has_counts && sent.count > 0;
    for (int i = 0; i < sent.messages; ++i) {
        const int code = message_error(sent, i, ranks);
        if (code != MPI_SUCCESS) { return code; }
        has_elements = has_elements || (sent.has_counts && sent.counts[i] > 0);
    }
    return has_elements && sent.buffer == nullptr ? MPI_ERR_BUFFER : MPI_SUCCESS;
}

int wanted_error(const Wanted& wanted) {
    if (wanted.count < 0) { return MPI_ERR_COUNT; }
    if (wanted.type == MPI_DATATYPE_NULL) { return MPI_ERR_TYPE; }
    if (wanted.messages == nullptr || wanted.sources == nullptr || wanted.buffer == nullptr) {
        return MPI_ERR_ARG;
    }
    if (wanted.has_counts &&
        (wanted.size == nullptr || wanted.counts == nullptr || wanted.displacements == nullptr)) {
        return MPI_ERR_ARG;
    }
    const Datatype type = inspect(wanted.type);
    return type.true_lower_bound < 0 || type.extent < 0 ? MPI_ERR_TYPE : MPI_SUCCESS;
}

/// The messages as bytes; those with gaps are packed into `memory`.
std::vector<Outgoing> list_messages(const Sent& sent, MPI_Comm comm, Received& memory) {
    std::vector<Outgoing> messages;
    messages.reserve(static_cast<size_t>(sent.messages));
    const Datatype type = inspect(sent.type);
    for (int i = 0; i < sent.messages; ++i) {
        const int64_t begin =
            sent.has_counts ? sent.displacements[i] : int64_t{i} * int64_t{sent.count};
        const int count = sent.has_counts ? sent.counts[i] : sent.count;
        const intptr_t address = reinterpret_cast<intptr_t>(sent.buffer) + begin * type.extent;
        static const device::Place on_host{};
        const UserMemory from =
            user_memory(reinterpret_cast<void*>(address), count, type, &on_host);
        const std::byte* data = from.dense;
        if (data == nullptr && from.bytes > 0) {
            std::byte* const packed = memory.add_memory(from.bytes);
            pack_user_memory(from, packed, comm);
            data = packed;
        }
        messages.push_back({sent.destinations[i], data, from.bytes});
    }
    return messages;
}

/// Collective.
void carry_out(MPI_Comm comm, Context& context, std::span<const Outgoing> outgoing,
               Received& received) {
    const int tag = context.next_tag();
    switch (context.method()) {
    case SparseMethod::personalized:
        return personalized(context.comm(), tag, outgoing, context.counts(), received);
    case SparseMethod::locality: return locality(context, tag, outgoing, received);
    case SparseMethod::node_pairs:
        before_blocking();
        return context.node_pairs().exchange(Communicator::of(comm, library->world).inner(),
                                             outgoing, received);
    case SparseMethod::automatic:
    case SparseMethod::nonblocking: return nonblocking(context.comm(), tag, outgoing, received);
    }
}

/// Elements of a message; MPI_UNDEFINED: it has parts of some, or more than are wanted.
int64_t elements_of(const Incoming& message, const Datatype& type, const Wanted& wanted) {
    if (type.size == 0) { return message.bytes == 0 ? 0 : MPI_UNDEFINED; }
    const uint64_t count = message.bytes / type.size;
    const bool fits =
        wanted.has_counts ? count <= INT_MAX : count <= static_cast<uint64_t>(wanted.count);
    return message.bytes % type.size == 0 && fits ? static_cast<int64_t>(count)
                                                  : int64_t{MPI_UNDEFINED};
}

/// Hands out what has come. Changes nothing of the application's if it fails.
int deliver(const Received& received, const Wanted& wanted, MPI_Comm comm) {
    const Datatype type = inspect(wanted.type);
    const size_t messages = received.messages.size();
    if (messages > INT_MAX) { return MPI_ERR_COUNT; }
    Given<int> sources(messages);
    Given<int> counts(messages);
    Given<int> displacements(messages + 1);
    int64_t size = 0;
    for (size_t i = 0; i < messages; ++i) {
        const int64_t elements = elements_of(received.messages[i], type, wanted);
        if (elements == MPI_UNDEFINED) { return MPI_ERR_TRUNCATE; }
        sources[i] = received.messages[i].peer;
        counts[i] = static_cast<int>(elements);
        size += wanted.has_counts ? elements : wanted.count;
        if (wanted.has_counts && size > INT_MAX) { return MPI_ERR_COUNT; }
        displacements[i + 1] = wanted.has_counts ? static_cast<int>(size) : 0;
    }
    const MPI_Count end = type.true_lower_bound + type.true_extent;
    Given<std::byte> buffer(static_cast<uint64_t>(size * type.extent + (size > 0 ? end : 0)));
    for (size_t i = 0; i < messages; ++i) {
        const int64_t begin =
            wanted.has_counts ? displacements[i] : static_cast<int64_t>(i) * int64_t{wanted.count};
        static const device::Place on_host{};
        const UserMemory to =
            user_memory(buffer.get() + begin * type.extent, counts[i], type, &on_host);
        unpack_user_memory(to, received.messages[i].data, comm);
    }
    *wanted.messages = static_cast<int>(messages);
    *wanted.sources = sources.release();
    *wanted.buffer = buffer.release();
    if (!wanted.has_counts) { return MPI_SUCCESS; }
    *wanted.size = static_cast<int>(size);
    *wanted.counts = counts.release();
    *wanted.displacements = displacements.release();
    return MPI_SUCCESS;
}

int argument_error(const Sent& sent, const Wanted& wanted, MPI_Comm comm) {
    const int code = sent_error(sent, comm);
    return code != MPI_SUCCESS ? code : wanted_error(wanted);
}

int run(const Sent& sent, const Wanted& wanted, MPI_Comm comm) {
    if (const int code = argument_error(sent, wanted, comm); code != MPI_SUCCESS) { return code; }
    const CompletionErrorsReturn errors_return;
    Context& context = Context::of(comm);
    Received packed;
    Received received;
    std::vector<Outgoing> outgoing;
    try {
        outgoing = list_messages(sent, context.comm(), packed);
    } catch (const MpiError& error) { // it sends nothing, but the others wait for it
        received.fail(error.code);
    } catch (const std::bad_alloc&) { received.fail(MPI_ERR_NO_MEM); }
    carry_out(comm, context, outgoing, received);
    return received.error != MPI_SUCCESS ? received.error
                                         : deliver(received, wanted, context.comm());
}

} // namespace

int exchange(const Sent& sent, const Wanted& wanted, MPI_Comm comm) {
    int code = MPI_ERR_INTERN;
    try {
        code = communicator_error(comm);
        if (code == MPI_SUCCESS) { code = run(sent, wanted, comm); }
    } catch (const MpiError& error) { code = error.code; } catch (const std::bad_alloc&) {
        code = MPI_ERR_NO_MEM;
    } catch (const std::exception& error) { log(LogLevel::warn, "{}", error.what()); }
    if (code == MPI_SUCCESS) { return code; }
    mpi.Comm_call_errhandler(comm == MPI_COMM_NULL ? raises_errors() : comm, code);
    return code;
}

} // namespace nodeaware::sparse
