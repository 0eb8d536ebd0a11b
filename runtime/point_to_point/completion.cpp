#include "runtime/point_to_point/completion.hpp"

#include "runtime/point_to_point/transfers.hpp"

#include <algorithm>

namespace nodeaware::completion {

namespace {

/// The requests of one call as MPI is to see them: generalized ones in place of persistent ones
/// that the library executes. Tells what has become of them afterwards.
class Requests {
  public:
    Requests(MessageLayer& layer, int count, MPI_Request* given, MPI_Status* statuses,
             int status_count)
        : layer_(layer), count_(static_cast<size_t>(std::max(count, 0))), given_(given),
          statuses_(statuses) {
        if (given == nullptr) { count_ = 0; }
        if (layer.swapped > 0) { swap(); }
        const auto& tracked = layer.tracked();
        has_tracked_ = !tracked.empty() &&
                       std::any_of(given, given + count_,
                                   [&](MPI_Request request) { return tracked.count(request) > 0; });
        if (!has_tracked_) { return; }
        before_.assign(given, given + count_);
        if (statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE) {
            own_statuses_.resize(static_cast<size_t>(std::max(status_count, 1)));
            statuses_ = own_statuses_.data();
        }
    }

    MPI_Request* data() { return seen_.empty() ? given_ : seen_.data(); }
    MPI_Status* statuses() { return statuses_; }

    /// To be called after MPI has looked at the requests.
    void update() {
        if (seen_.empty()) { return; }
        for (size_t i = 0; i < count_; ++i) {
            if (swapped_[i] == nullptr) {
                given_[i] = seen_[i];
            } else if (seen_[i] == MPI_REQUEST_NULL) {
                swapped_[i]->active = MPI_REQUEST_NULL;
                --layer_.swapped;
            }
        }
        seen_.clear();
    }

    /// Request `index` has completed, and that is its status.
    void completed(int index, const MPI_Status& status) {
        if (!has_tracked_) { return; }
        const auto found = layer_.tracked().find(before_[static_cast<size_t>(index)]);
        if (found == layer_.tracked().end()) { return; }
        found->second->note_pending(-1);
        if (status.MPI_SOURCE >= 0) {
            found->second->note_receive(status.MPI_SOURCE, status.MPI_TAG);
        }
        layer_.tracked().erase(found);
    }
    bool has_tracked() const { return has_tracked_; }

  private:
    void swap() {
        auto& persistent = layer_.persistent();
        for (size_t i = 0; i < count_; ++i) {
            const auto found = persistent.find(given_[i]);
            if (found == persistent.end() || found->second.active == MPI_REQUEST_NULL) { continue; }
            if (seen_.empty()) {
                seen_.assign(given_, given_ + count_);
                swapped_.assign(count_, nullptr);
            }
            seen_[i] = found->second.active;
            swapped_[i] = &found->second;
        }
    }

    MessageLayer& layer_;
    size_t count_;
    MPI_Request* given_;
    MPI_Status* statuses_;
    std::vector<MPI_Request> seen_;
    std::vector<MessageLayer::Persistent*> swapped_;
    bool has_tracked_ = false;
    std::vector<MPI_Request> before_;
    std::vector<MPI_Status> own_statuses_;
};

} // namespace

int test(MessageLayer& layer, MPI_Request* request, int* flag, MPI_Status* status) {
    layer.progress();
    Requests list(layer, 1, request, status, 1);
    const int code = mpi.Test(list.data(), flag, list.statuses());
    list.update();
    if (code == MPI_SUCCESS && *flag != 0) {
        if (list.has_tracked()) { list.completed(0, *list.statuses()); }
        layer.completed();
    }
    return code;
}

int wait(MessageLayer& layer, MPI_Request* request, MPI_Status* status) {
    int code = MPI_SUCCESS;
    layer.wait_until([&] {
        int flag = 0;
        code = test(layer, request, &flag, status);
        return code != MPI_SUCCESS || flag != 0;
    });
    return code;
}

int testall(MessageLayer& layer, int count, MPI_Request* requests, int* flag,
            MPI_Status* statuses) {
    layer.progress();
    Requests list(layer, count, requests, statuses, count);
    const int code = mpi.Testall(count, list.data(), flag, list.statuses());
    list.update();
    if (code == MPI_SUCCESS && *flag != 0) {
        for (int i = 0; list.has_tracked() && i < count; ++i) {
            list.completed(i, list.statuses()[i]);
        }
        layer.completed();
    }
    return code;
}

int testany(MessageLayer& layer, int count, MPI_Request* requests, int* index, int* flag,
            MPI_Status* status) {
    layer.progress();
    Requests list(layer, count, requests, status, 1);
    const int code = mpi.Testany(count, list.data(), index, flag, list.statuses());
    list.update();
    if (code == MPI_SUCCESS && *flag != 0) {
        if (*index != MPI_UNDEFINED) { list.completed(*index, *list.statuses()); }
        layer.completed();
    }
    return code;
}

int testsome(MessageLayer& layer, int count, MPI_Request* requests, int* done, int* indices,
             MPI_Status* statuses) {
    layer.progress();
    Requests list(layer, count, requests, statuses, count);
    const int code = mpi.Testsome(count, list.data(), done, indices, list.statuses());
    list.update();
    if (code == MPI_SUCCESS && *done != 0) {
        for (int i = 0; list.has_tracked() && *done != MPI_UNDEFINED && i < *done; ++i) {
            list.completed(indices[i], list.statuses()[i]);
        }
        layer.completed();
    }
    return code;
}

int waitall(MessageLayer& layer, int count, MPI_Request* requests, MPI_Status* statuses) {
    if (!layer.is_busy()) {
        Requests list(layer, count, requests, statuses, count);
        const int code = mpi.Waitall(count, list.data(), list.statuses());
        for (int i = 0; list.has_tracked() && code == MPI_SUCCESS && i < count; ++i) {
            list.completed(i, list.statuses()[i]);
        }
        layer.completed();
        return code;
    }
    Requests list(layer, count, requests, statuses, count);
    int next = 0;
    // Not MPI_Testall, with which MPICH 4.0 fails where its own persistent collectives are.
    layer.wait_until([&] {
        for (; next < count; ++next) {
            int flag = 0;
            const MPI_Request request = list.data()[next];
            if (request == MPI_REQUEST_NULL) { continue; }
            const int code = mpi.Request_get_status(request, &flag, MPI_STATUS_IGNORE);
            if (code == MPI_SUCCESS && flag == 0) { return false; }
        }
        return true;
    });
    const int code = mpi.Waitall(count, list.data(), list.statuses());
    list.update();
    for (int i = 0; list.has_tracked() && code == MPI_SUCCESS && i < count; ++i) {
        list.completed(i, list.statuses()[i]);
    }
    layer.completed();
    return code;
}

int waitany(MessageLayer& layer, int count, MPI_Request* requests, int* index, MPI_Status* status) {
    int code = MPI_SUCCESS;
    layer.wait_until([&] {
        int flag = 0;
        code = testany(layer, count, requests, index, &flag, status);
        return code != MPI_SUCCESS || flag != 0;
    });
    return code;
}

int waitsome(MessageLayer& layer, int count, MPI_Request* requests, int* done, int* indices,
             MPI_Status* statuses) {
    int code = MPI_SUCCESS;
    layer.wait_until([&] {
        code = testsome(layer, count, requests, done, indices, statuses);
        return code != MPI_SUCCESS || *done != 0;
    });
    return code;
}

int get_status(MessageLayer& layer, MPI_Request request, int* flag, MPI_Status* status) {
    layer.progress();
    const auto found = layer.persistent().find(request);
    if (found != layer.persistent().end() && found->second.active != MPI_REQUEST_NULL) {
        request = found->second.active;
    }
    return mpi.Request_get_status(request, flag, status);
}

int cancel(MessageLayer& layer, MPI_Request* request) {
    const auto found = layer.persistent().find(*request);
    if (found != layer.persistent().end() && found->second.active != MPI_REQUEST_NULL) {
        return mpi.Cancel(&found->second.active);
    }
    return mpi.Cancel(request);
}

void remember(MessageLayer& layer, MPI_Request request,
              const MessageLayer::Persistent& persistent) {
    CommunicatorMessages* const communicator = layer.find(persistent.comm);
    if (communicator == nullptr || persistent.peer == MPI_PROC_NULL) { return; }
    MessageLayer::Persistent& kept = layer.persistent()[request];
    kept = persistent;
    if (kept.memory.dense == nullptr && kept.memory.bytes > 0) {
        MPI_CALL(Type_dup, kept.memory.type, &kept.kept_type);
        kept.memory.type = kept.kept_type;
    }
}

namespace {

/// Starts a persistent request in MPI and learns from it.
int start_native(MessageLayer& layer, MPI_Request* request,
                 const MessageLayer::Persistent& persistent, const transfers::Message& message) {
    const int code = mpi.Start(request);
    if (code != MPI_SUCCESS) { return code; }
    if (persistent.mode == MessageLayer::Persistent::Mode::receive) {
        transfers::note_receive_begun(layer, message, *request);
    } else {
        transfers::note_sent(layer, message);
    }
    return code;
}

int start_one(MessageLayer& layer, MPI_Request* request) {
    using Mode = MessageLayer::Persistent::Mode;
    const auto found = layer.persistent().find(*request);
    if (found == layer.persistent().end()) { return mpi.Start(request); }
    MessageLayer::Persistent& persistent = found->second;
    const UserMemory& memory = persistent.memory;
    const transfers::Message message{memory.address,  memory.count,   memory.type,
                                     persistent.peer, persistent.tag, persistent.comm};
    MPI_Request active = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    const bool is_ours =
        persistent.mode == Mode::receive
            ? transfers::receive(layer, message, &active, MPI_STATUS_IGNORE, &code)
            : transfers::send(layer, message, persistent.mode == Mode::synchronous, &active, &code);
    if (!is_ours) { return start_native(layer, request, persistent, message); }
    persistent.active = active;
    ++layer.swapped;
    return code;
}

} // namespace

int start(MessageLayer& layer, int count, MPI_Request* requests) {
    if (layer.persistent().empty()) {
        return count == 1 ? mpi.Start(requests) : mpi.Startall(count, requests);
    }
    for (int i = 0; i < count; ++i) {
        const int code = start_one(layer, requests + i);
        if (code != MPI_SUCCESS) { return code; }
    }
    return MPI_SUCCESS;
}

void forget(MessageLayer& layer, MPI_Request request) {
    if (const auto tracked = layer.tracked().find(request); tracked != layer.tracked().end()) {
        tracked->second->note_unknown_receive();
        layer.tracked().erase(tracked);
    }
    const auto found = layer.persistent().find(request);
    if (found == layer.persistent().end()) { return; }
    MessageLayer::Persistent& persistent = found->second;
    if (persistent.active != MPI_REQUEST_NULL) {
        mpi.Request_free(&persistent.active);
        --layer.swapped;
    }
    if (persistent.kept_type != MPI_DATATYPE_NULL) { mpi.Type_free(&persistent.kept_type); }
    layer.persistent().erase(found);
}

} // namespace nodeaware::completion
