#include "runtime/memory/elements.hpp"
#include "runtime/point_to_point/hooks.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace nodeaware::p2p {

// Where there is no room for what they tell, these are MPI's to refuse, before anything is taken.

int iprobe(int source, int tag, abi::MPI_Comm comm, int* flag, abi::MPI_Status* status) {
    const auto by_mpi = [&] { return mpi.Iprobe(source, tag, native(comm), flag, native(status)); };
    const auto work = [&]() -> int {
        if (flag == nullptr) { return by_mpi(); }
        bool is_ours = false;
        return transfers::probe(*layer, source, tag, native(comm), flag, native(status), &is_ours);
    };
    return in_turn(native(comm), work, by_mpi);
}

namespace {

/// Looks until there is a message or an error, or until MPI is to wait by itself.
template <class Look, class ByMpi> int look_until_there(Look look, ByMpi by_mpi) {
    std::optional<int> result;
    layer->progress.wait_until([&] {
        if (layer->is_left_to_mpi()) { return true; }
        int flag = hidden_errors::untold;
        const int told = look(&flag);
        if (told == MPI_SUCCESS && flag == 0) { return false; }
        result = told;
        return true;
    });
    if (result) { return *result; }
    const Turn::Away away;
    return by_mpi();
}

} // namespace

int probe(int source, int tag, abi::MPI_Comm comm, abi::MPI_Status* status) {
    const auto by_mpi = [&] { return mpi.Probe(source, tag, native(comm), native(status)); };
    const auto work = [&]() -> int {
        const auto look = [&](int* flag) {
            bool is_ours = false;
            return transfers::probe(*layer, source, tag, native(comm), flag, native(status),
                                    &is_ours);
        };
        return look_until_there(look, by_mpi);
    };
    return in_turn(native(comm), work, by_mpi);
}

namespace {

/// MPI_Improbe.
int take_if_there(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                  MPI_Status* status) {
    CommunicatorMessages* const communicator = layer->find(comm);
    MPI_Status own;
    MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;
    const auto by_mpi = [&] {
        const int result = mpi.Improbe(source, tag, comm, flag, message, told);
        const bool is_told = result == MPI_SUCCESS && *flag != hidden_errors::untold;
        if (communicator != nullptr && is_told && *flag != 0 && told->MPI_SOURCE >= 0) {
            communicator->note_probed_in_mpi(told->MPI_SOURCE, told->MPI_TAG);
        }
        return result;
    };
    if (communicator == nullptr || !communicator->concerns_engine(MPI_PROC_NULL, source)) {
        layer->progress.advance();
        return by_mpi();
    }
    bool is_ours = false;
    const int result = transfers::probe(*layer, source, tag, comm, flag, told, &is_ours);
    if (result != MPI_SUCCESS || *flag == 0 || *flag == hidden_errors::untold) { return result; }
    if (!is_ours) { return by_mpi(); }
    const std::shared_ptr<BatchEngine> engine = communicator->engine();
    const auto found = engine->receives().extract(source, tag);
    *flag = found ? 1 : 0;
    if (!found) { return MPI_SUCCESS; } // its payload has not come yet
    if (found->message != MPI_MESSAGE_NULL) {
        *message = found->message;
        layer->probed()[found->message] = {found->entry, comm, engine};
        return result;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<std::byte> bytes(found->bytes.get(), found->bytes.get() + found->entry.bytes);
    const Elements elements(bytes.size());
    MPI_CALL(Isend, bytes.data(), elements.count(), elements.type(), 0, 1, layer->self(), &request);
    layer->detached.add(request, std::move(bytes));
    MPI_CALL(Mprobe, 0, 1, layer->self(), message, MPI_STATUS_IGNORE);
    layer->probed()[*message] = {found->entry, comm, nullptr};
    return result;
}

} // namespace

int improbe(int source, int tag, abi::MPI_Comm comm, int* flag, abi::MPI_Message* message,
            abi::MPI_Status* status) {
    const auto by_mpi = [&] {
        return mpi.Improbe(source, tag, native(comm), flag, native(message), native(status));
    };
    const auto work = [&] {
        if (flag == nullptr || message == nullptr) { return by_mpi(); }
        return take_if_there(source, tag, native(comm), flag, native(message), native(status));
    };
    return in_turn(native(comm), work, by_mpi);
}

int mprobe(int source, int tag, abi::MPI_Comm comm, abi::MPI_Message* message,
           abi::MPI_Status* status) {
    const auto by_mpi = [&] {
        return mpi.Mprobe(source, tag, native(comm), native(message), native(status));
    };
    const auto work = [&]() -> int {
        if (source == MPI_PROC_NULL || message == nullptr) { return by_mpi(); }
        const auto look = [&](int* flag) {
            return take_if_there(source, tag, native(comm), flag, native(message), native(status));
        };
        return look_until_there(look, by_mpi);
    };
    return in_turn(native(comm), work, by_mpi);
}

} // namespace nodeaware::p2p
