#pragma once

#include "tests/mpi/batches_exchange.hpp"

namespace nodeaware::test {

/// From its left neighbor, then to its right one: each waits for the one before it.
inline void Exchange::wavefront() {
    int size = 0;
    MPI_Comm_size(comm_, &size);
    if (size < 2) { return; }
    Message message;
    message.from = (rank_ + size - 1) % size;
    message.to = rank_;
    message.tag = wavefront_tag;
    message.units = now_->wavefront_size;
    message.received_as = layouts_.basic(1);
    Buffer memory;
    const auto receive = [&] {
        message.key = static_cast<uint64_t>(now_->value + message.from);
        void* data = memory.prepare_receive(received(message), message.units);
        MPI_Status status = fresh_status();
        MPI_Request request = MPI_REQUEST_NULL;
        int flag = 0;
        if (chance(2)) {
            if (chance(3)) { MPI_Probe(message.from, message.tag, comm_, MPI_STATUS_IGNORE); }
            MPI_Recv(data, message.units, MPI_INT, message.from, message.tag, comm_, &status);
        } else {
            MPI_Irecv(data, message.units, MPI_INT, message.from, message.tag, comm_, &request);
            while (flag == 0) {
                sched_yield();
                MPI_Test(&request, &flag, &status);
            }
        }
        check_status(log_, status, message, received(message));
        log_.expect(memory.holds(message, received(message)), "wrong data in a wavefront", message);
    };
    delays_.pause();
    if (rank_ != now_->wavefront) { receive(); }
    Message onward = message;
    onward.key = static_cast<uint64_t>(now_->value + rank_);
    Buffer sent;
    const void* data = sent.prepare_send(onward, received(onward));
    MPI_Send(data, message.units, MPI_INT, (rank_ + 1) % size, message.tag, comm_);
    if (rank_ == now_->wavefront) { receive(); }
}

/// The message to this rank that must be the next of the source, with the tag if one is given.
inline const Message* Exchange::take(int source, int tag) {
    const auto found = std::find_if(left_.begin(), left_.end(), [&](const Message* message) {
        return message->from == source && (tag == MPI_ANY_TAG || message->tag == tag);
    });
    if (found == left_.end()) {
        log_.expect(false, "received what nobody sent");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const Message* message = *found;
    left_.erase(found);
    return message;
}

/// Which message a receive that takes any must have taken.
inline void Exchange::take_any(Operation& operation) {
    const bool by_tag = way_ == Receiving::any_source;
    const Message* message =
        take(operation.status.MPI_SOURCE, by_tag ? operation.status.MPI_TAG : MPI_ANY_TAG);
    log_.expect(!by_tag || message->tag == operation.message.tag, "wrong tag", operation.message);
    log_.expect(way_ != Receiving::any_tag || message->from == operation.message.from,
                "wrong source", operation.message);
    const int received_as = operation.message.received_as;
    operation.message = *message;
    operation.message.received_as = received_as;
}

inline void Exchange::receive_blocking() {
    left_.clear();
    for (const Message& message : now_->messages) {
        if (message.to == rank_) { left_.push_back(&message); }
    }
    if (way_ == Receiving::as_usual) {
        for (const Message* message : to_me()) {
            if (!message->early && blocks(*message)) { receive_usual(*message); }
        }
    }
    while (receives_blocking(way_) && !left_.empty()) {
        delays_.pause();
        if (way_ == Receiving::blocking_any) {
            receive_any();
        } else {
            receive_probed();
        }
    }
}

inline void Exchange::receive_usual(const Message& message) {
    Message alone = message;
    if (message.withdrawn) { alone.slot = -1; }
    Operation& operation = operation_for(alone, What::receive);
    operation.has_status = manner_.wants_statuses;
    operation.strict = false;
    void* data = operation.buffer.prepare_receive(received(message), message.room);
    operation.status = fresh_status();
    if (!message.withdrawn || was_in_time(operation)) {
        MPI_Recv(data, message.room, received(message).handle, message.from, message.tag, comm_,
                 manner_.wants_statuses ? &operation.status : MPI_STATUS_IGNORE);
    }
    check(operation);
    delays_.pause();
}

/// Posts a receive and cancels it; whether that was before its message came. If so the memory is
/// as it was.
inline bool Exchange::was_in_time(Operation& operation) {
    const Message& message = operation.message;
    void* data = operation.buffer.prepare_receive(received(message), message.room);
    MPI_Irecv(data, message.room, received(message).handle, message.from, message.tag, comm_,
              &operation.request);
    delays_.pause();
    MPI_Cancel(&operation.request);
    MPI_Wait(&operation.request, &operation.status);
    int cancelled = 0;
    MPI_Test_cancelled(&operation.status, &cancelled);
    operation.has_status = cancelled == 0 || manner_.wants_statuses;
    if (cancelled == 0) { return false; }
    Message nothing = message;
    nothing.units = 0;
    log_.expect(operation.buffer.holds(nothing, received(message)), "a cancelled receive received",
                message);
    operation.status = fresh_status();
    return true;
}

inline void Exchange::receive_any() {
    Operation& operation = any_operation(*left_.front());
    const Message& shape = operation.message;
    operation.status = fresh_status();
    operation.has_status = true;
    MPI_Recv(operation.buffer.prepare_receive(received(shape), shape.room), shape.room,
             received(shape).handle, MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &operation.status);
    check(operation);
}

inline void Exchange::receive_probed() {
    const Message& first = *left_.front();
    const bool matched = way_ == Receiving::mprobe || way_ == Receiving::improbe;
    const bool any =
        way_ == Receiving::probe_any || way_ == Receiving::iprobe_any || (matched && chance(2));
    const int source = any ? MPI_ANY_SOURCE : first.from;
    const int tag = any && chance(2) ? MPI_ANY_TAG : first.tag;
    MPI_Status found = fresh_status();
    MPI_Message handle = MPI_MESSAGE_NULL;
    int flag = 0;
    switch (way_) {
    case Receiving::mprobe: MPI_Mprobe(source, tag, comm_, &handle, &found); break;
    case Receiving::improbe:
        while (flag == 0) {
            sched_yield();
            MPI_Improbe(source, tag, comm_, &flag, &handle, &found);
        }
        break;
    case Receiving::iprobe_any:
        while (flag == 0) {
            sched_yield();
            MPI_Iprobe(source, tag, comm_, &flag, &found);
        }
        break;
    default: MPI_Probe(source, tag, comm_, &found);
    }
    const Message& message = *take(found.MPI_SOURCE, tag);
    check_status(log_, found, message, received(message));
    receive_found(message, handle);
}

inline void Exchange::receive_found(const Message& message, MPI_Message handle) {
    Operation& operation = extra(What::receive, message);
    const Layout& layout = received(message);
    void* data = operation.buffer.prepare_receive(layout, message.room);
    operation.status = fresh_status();
    operation.has_status = true;
    const bool waits = chance(2);
    if (handle != MPI_MESSAGE_NULL) {
        if (waits) {
            MPI_Mrecv(data, message.room, layout.handle, &handle, &operation.status);
        } else {
            MPI_Imrecv(data, message.room, layout.handle, &handle, &operation.request);
        }
        log_.expect(handle == MPI_MESSAGE_NULL, "a message handle is left", message);
    } else if (waits) {
        MPI_Recv(data, message.room, layout.handle, message.from, message.tag, comm_,
                 &operation.status);
    } else {
        MPI_Irecv(data, message.room, layout.handle, message.from, message.tag, comm_,
                  &operation.request);
    }
    if (waits) {
        check(operation);
    } else {
        active_.push_back(&operation);
    }
}

inline void Exchange::complete() {
    free_some_active();
    std::vector<Operation*> receives;
    std::vector<Operation*> sends;
    for (Operation* operation : active_) {
        (manner_.together || operation->what == What::receive ? receives : sends)
            .push_back(operation);
    }
    for (auto* list : {&receives_, &sends_}) {
        for (const Operation& operation : *list) {
            if (operation.request == MPI_REQUEST_NULL || !manner_.extras || !chance(10) ||
                std::find(active_.begin(), active_.end(), &operation) != active_.end()) {
                continue;
            }
            Operation& idle = extra(What::nothing, {});
            idle.request = operation.request;
            receives.push_back(&idle);
        }
    }
    if (manner_.shuffles) { std::shuffle(receives.begin(), receives.end(), own_); }
    const auto style = [&] { return chance(20) ? Manner::any_style(own_) : manner_.style; };
    if (chance(4)) { receives.swap(sends); }
    const bool in_parts = chance(10);
    for (auto* list : {&receives, &sends}) {
        const auto middle =
            list->begin() + (in_parts ? draw(own_, 0, static_cast<int>(list->size())) : 0);
        for (const auto& part :
             {std::vector(list->begin(), middle), std::vector(middle, list->end())}) {
            if (part.empty() && !chance(10)) { continue; }
            delays_.pause();
            Completion(log_, own_, delays_, part, manner_.wants_statuses).run(style());
        }
    }
}

/// Nobody asks for these sends again; they are complete when the others have received.
inline void Exchange::free_some_active() {
    if (!manner_.frees_active) { return; }
    std::erase_if(active_, [&](Operation* operation) {
        if (operation->what != What::send || !chance(30)) { return false; }
        MPI_Request_free(&operation->request);
        log_.expect(operation->request == MPI_REQUEST_NULL, "a freed request is left");
        freed_.push_back(std::make_unique<Operation>(std::move(*operation)));
        *operation = Operation{};
        return true;
    });
}

inline void Exchange::check(Operation& operation) {
    if (operation.any || operation.what == What::cancelled) {
        log_.expect(operation.has_status, "the test is wrong");
    }
    int cancelled = 0;
    if (operation.what == What::cancelled) {
        MPI_Test_cancelled(&operation.status, &cancelled);
        log_.expect(cancelled != 0, "not cancelled");
    }
    if (operation.what != What::receive) { return; }
    if (operation.any) { take_any(operation); }
    const Message& message = operation.message;
    if (operation.has_status) {
        check_status(log_, operation.status, message, received(message), operation.strict);
    }
    log_.expect(operation.buffer.holds(message, received(message)), "wrong data", message);
}

inline void Exchange::verify() {
    for (Operation* operation : active_) { check(*operation); }
    active_.clear();
    if (manner_.makes_again) { free_persistent(); }
}

inline void Exchange::free_persistent() {
    for (auto* list : {&receives_, &sends_}) {
        for (Operation& operation : *list) {
            if (operation.request == MPI_REQUEST_NULL) { continue; }
            MPI_Request_free(&operation.request);
            log_.expect(operation.request == MPI_REQUEST_NULL, "a freed request is left");
        }
    }
}

inline void Exchange::end() {
    delays_.pause();
    const bool is_aside = comm_ == MPI_COMM_NULL || wishes_.meets_aside;
    const MPI_Comm meeting = is_aside ? side_ : comm_;
    if (now_->goes_on && comm_ != MPI_COMM_NULL) {
        // The next one starts at once.
    } else if (now_->ends_with_barrier) {
        MPI_Barrier(meeting);
    } else {
        add_up(log_, meeting, now_->value);
    }
    extras_.clear();
}

} // namespace nodeaware::test
