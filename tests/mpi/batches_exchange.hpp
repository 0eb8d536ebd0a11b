#pragma once

#include "tests/mpi/batches_between.hpp"
#include "tests/mpi/batches_completion.hpp"
#include "tests/mpi/batches_plan.hpp"

#include <deque>
#include <memory>

namespace nodeaware::test {

/// How one rank does its part; the others may do theirs otherwise.
struct Manner {
    explicit Manner(Random& own)
        : persistent_receives(draw(own, 0, 2) == 0), persistent_sends(draw(own, 0, 2) == 0),
          makes_again(draw(own, 0, 3) == 0), blocking_sends(draw(own, 0, 1) * draw(own, 0, 100)),
          blocking_receives(draw(own, 0, 2) > 0), wants_statuses(draw(own, 0, 2) > 0),
          together(draw(own, 0, 1) == 0), shuffles(draw(own, 0, 3) == 0),
          extras(draw(own, 0, 2) == 0), frees_active(draw(own, 0, 3) == 0), style(any_style(own)) {}

    static Style any_style(Random& own) {
        return static_cast<Style>(draw(own, 0, static_cast<int>(Style::count) - 1));
    }

    bool persistent_receives;
    bool persistent_sends;
    bool makes_again;       ///< persistent requests, in each iteration
    int blocking_sends;     ///< percent
    bool blocking_receives; ///< where receives may block
    bool wants_statuses;
    bool together; ///< sends and receives in one array
    bool shuffles;
    bool extras; ///< messages to itself and to MPI_PROC_NULL
    bool frees_active;
    Style style;
};

constexpr int handshake_tag = 20000;
constexpr int wavefront_tag = 20001;
constexpr int never_tag = 20002;

/// What one rank does in a phase.
class Exchange {
  public:
    using What = Operation::What;

    Exchange(const Log& log, const Layouts& layouts, Random& own, Delays& delays, MPI_Comm comm,
             MPI_Comm side, const Wishes& wishes, int slots)
        : log_(log), layouts_(layouts), own_(own), delays_(delays), comm_(comm), side_(side),
          wishes_(wishes), manner_(own), receives_(static_cast<size_t>(slots)),
          sends_(static_cast<size_t>(slots)) {
        MPI_Comm_rank(comm, &rank_);
        for (auto* list : {&receives_, &sends_}) {
            for (Operation& operation : *list) { operation.persistent = true; }
        }
    }
    ~Exchange() { free_persistent(); }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    void run(const Iteration& now, const Iteration* next) {
        now_ = &now;
        way_ = now.receiving[static_cast<size_t>(rank_)];
        post_receives();
        post_extras();
        do_between(now.before_sends);
        send_all();
        do_between(now.after_sends);
        if (now.has_late) { post_late(); }
        if (now.wavefront >= 0) { wavefront(); }
        if (now.frees) { MPI_Comm_free(&comm_); }
        receive_blocking();
        complete();
        verify();
        if (next != nullptr) { post_early(*next); }
        end();
    }

  private:
    bool chance(int one_in) { return draw(own_, 1, one_in) == 1; }
    const Layout& received(const Message& message) const {
        return layouts_.at(message.received_as);
    }

    bool blocks(const Message& message) const {
        return message.withdrawn ||
               (!wishes_.sends_may_block && manner_.blocking_receives && !message.preposted &&
                !message.late && !(manner_.persistent_receives && message.slot >= 0));
    }

    std::vector<const Message*> to_me() {
        std::vector<const Message*> list;
        for (const Message& message : now_->messages) {
            if (message.to == rank_) { list.push_back(&message); }
        }
        if (manner_.shuffles) { std::shuffle(list.begin(), list.end(), own_); }
        std::stable_partition(list.begin(), list.end(),
                              [](const Message* message) { return !message->second; });
        return list;
    }

    Operation& extra(What what, const Message& message) {
        extras_.push_back(std::make_unique<Operation>());
        extras_.back()->what = what;
        extras_.back()->message = message;
        return *extras_.back();
    }

    Operation& operation_for(const Message& message, What what) {
        const bool wanted =
            what == What::receive ? manner_.persistent_receives : manner_.persistent_sends;
        if (message.slot < 0) { return extra(what, message); }
        auto& list = what == What::receive ? receives_ : sends_;
        Operation& operation = list[static_cast<size_t>(message.slot)];
        operation.what = what;
        operation.message = message;
        operation.persistent = wanted;
        return operation;
    }

    void post_receives() {
        active_.swap(early_);
        early_.clear();
        if (receives_blocking(way_)) { return; }
        if (way_ != Receiving::as_usual) { return post_any(); }
        std::vector<Operation*> starting;
        const std::vector<const Message*> list = to_me();
        for (const bool persistent : {true, false}) {
            for (const Message* message : list) {
                const bool first = manner_.persistent_receives && message->slot >= 0;
                if (message->late || message->early || blocks(*message)) { continue; }
                if (first == persistent) { post_receive(*message, &starting); }
            }
            if (persistent) { start(starting); }
        }
        for (const Message& message : now_->messages) {
            if (message.to != rank_ || message.kind != Kind::ready) { continue; }
            Operation& operation = extra(What::send, message);
            MPI_Isend(nullptr, 0, MPI_INT, message.from, handshake_tag, comm_, &operation.request);
            active_.push_back(&operation);
        }
    }

    /// The persistent ones are to be started, or are here if that is not given.
    void post_receive(const Message& message, std::vector<Operation*>* starting) {
        Operation& operation = operation_for(message, What::receive);
        const Layout& layout = received(message);
        void* data = operation.buffer.prepare_receive(layout, message.room);
        active_.push_back(&operation);
        if (!operation.persistent) {
            MPI_Irecv(data, message.room, layout.handle, message.from, message.tag, comm_,
                      &operation.request);
        } else {
            if (operation.request == MPI_REQUEST_NULL) {
                MPI_Recv_init(data, message.room, layout.handle, message.from, message.tag, comm_,
                              &operation.request);
            }
            if (starting != nullptr) {
                starting->push_back(&operation);
            } else {
                MPI_Start(&operation.request);
            }
        }
        delays_.pause();
    }

    void start(const std::vector<Operation*>& list) {
        std::vector<MPI_Request> requests;
        for (const Operation* operation : list) { requests.push_back(operation->request); }
        if (requests.empty()) { return; }
        MPI_Startall(static_cast<int>(requests.size()), requests.data());
        for (size_t i = 0; i < list.size(); ++i) {
            log_.expect(list[i]->request == requests[i], "a start changed a request");
        }
    }

    /// A receive of any of the messages that may arrive, with room for each.
    Operation& any_operation(const Message& model) {
        Message message = model;
        for (const Message& other : now_->messages) {
            if (other.to != rank_) { continue; }
            message.units = std::max(message.units, other.units);
        }
        message.room = received(message).elements_for(message.units) + draw(own_, 0, 2);
        Operation& operation = extra(What::receive, message);
        operation.any = true;
        operation.buffer.prepare_receive(received(message), message.room);
        return operation;
    }

    void post_any() {
        for (const Message& message : now_->messages) {
            if (message.to != rank_) { continue; }
            Operation& operation = any_operation(message);
            const int source = way_ == Receiving::any_tag ? message.from : MPI_ANY_SOURCE;
            const int tag = way_ == Receiving::any_source ? message.tag : MPI_ANY_TAG;
            const Message& shape = operation.message;
            MPI_Irecv(operation.buffer.prepare_receive(received(shape), shape.room), shape.room,
                      received(shape).handle, source, tag, comm_, &operation.request);
            active_.push_back(&operation);
            delays_.pause();
        }
    }

    void post_extras() {
        if (now_->has_barrier) {
            Operation& operation = extra(What::other, {});
            MPI_Ibarrier(side_, &operation.request);
            active_.push_back(&operation);
        }
        if (!manner_.extras) { return; }
        if (chance(4)) { pass_to(MPI_PROC_NULL, comm_); }
        if (chance(4)) { pass_to(0, MPI_COMM_SELF); }
        if (way_ == Receiving::as_usual && chance(10)) {
            Operation& operation = extra(What::cancelled, {});
            MPI_Irecv(nullptr, 0, MPI_INT, rank_, never_tag, comm_, &operation.request);
            MPI_Cancel(&operation.request);
            active_.push_back(&operation);
        }
        if (chance(3)) { active_.push_back(&extra(What::nothing, {})); }
        if (chance(10)) { exchange_with_nobody(); }
        if (chance(10)) {
            int flag = 0;
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &flag, MPI_STATUS_IGNORE);
        }
    }

    /// A message from and to nobody or this rank alone.
    void pass_to(int partner, MPI_Comm comm) {
        Message message;
        message.from = partner;
        message.to = partner;
        message.tag = partner == MPI_PROC_NULL ? MPI_ANY_TAG : 3;
        message.units = partner == MPI_PROC_NULL ? 0 : draw(own_, 0, 50);
        message.key = own_();
        message.received_as = message.sent_as = layouts_.basic(1);
        message.room = 50;
        Operation& receive = extra(What::receive, message);
        Operation& send = extra(What::send, message);
        MPI_Irecv(receive.buffer.prepare_receive(received(message), 50), 50, MPI_INT, partner, 3,
                  comm, &receive.request);
        MPI_Isend(send.buffer.prepare_send(message, received(message)), message.units, MPI_INT,
                  partner, 3, comm, &send.request);
        active_.insert(active_.end(), {&receive, &send});
    }

    void exchange_with_nobody() {
        int value = 5;
        MPI_Status status = fresh_status();
        MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 3, comm_);
        MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, comm_, &status);
        Message nothing;
        nothing.from = MPI_PROC_NULL;
        nothing.tag = MPI_ANY_TAG;
        check_status(log_, status, nothing, layouts_.at(layouts_.basic(1)));
        log_.expect(value == 5, "something from nobody");
    }

    void send_all() {
        std::vector<Operation*> starting;
        for (const bool persistent : {true, false}) {
            for (const Message& message : now_->messages) {
                const bool first = manner_.persistent_sends && message.slot >= 0 && !now_->in_order;
                if (message.from != rank_ || first != persistent) { continue; }
                send(message, persistent ? &starting : nullptr);
                delays_.pause();
            }
            if (persistent) { start(starting); }
        }
    }

    void send(const Message& message, std::vector<Operation*>* starting) {
        if (message.kind == Kind::ready) {
            MPI_Recv(nullptr, 0, MPI_INT, message.to, handshake_tag, comm_, MPI_STATUS_IGNORE);
        }
        Operation& operation = operation_for(message, What::send);
        const Layout& layout = layouts_.at(message.sent_as);
        const int count = message.units / layout.per_element();
        void* data = operation.buffer.prepare_send(message, layout);
        if (operation.persistent) {
            if (operation.request == MPI_REQUEST_NULL) {
                const auto make =
                    message.kind == Kind::synchronous ? MPI_Ssend_init : MPI_Send_init;
                make(data, count, layout.handle, message.to, message.tag, comm_,
                     &operation.request);
            }
            active_.push_back(&operation);
            if (starting != nullptr) { return starting->push_back(&operation); }
            MPI_Start(&operation.request);
        } else if (wishes_.sends_may_block && !message.nonblocking &&
                   draw(own_, 0, 99) < manner_.blocking_sends) {
            send_blocking(message, data, count, layout.handle);
            operation.buffer.scribble();
        } else {
            send_nonblocking(message, data, count, operation);
        }
    }

    void send_blocking(const Message& message, const void* data, int count, MPI_Datatype type) {
        const auto call = message.kind == Kind::synchronous ? MPI_Ssend
                          : message.kind == Kind::buffered  ? MPI_Bsend
                          : message.kind == Kind::ready     ? MPI_Rsend
                                                            : MPI_Send;
        call(data, count, type, message.to, message.tag, comm_);
    }

    void send_nonblocking(const Message& message, const void* data, int count,
                          Operation& operation) {
        const auto call = message.kind == Kind::synchronous ? MPI_Issend
                          : message.kind == Kind::buffered  ? MPI_Ibsend
                          : message.kind == Kind::ready     ? MPI_Irsend
                                                            : MPI_Isend;
        call(data, count, layouts_.at(message.sent_as).handle, message.to, message.tag, comm_,
             &operation.request);
        active_.push_back(&operation);
    }

    void do_between(const std::vector<Between>& list) {
        for (const Between one : list) {
            delays_.pause();
            between(log_, comm_, one, now_->value);
        }
    }

    void post_late() {
        MPI_Barrier(comm_);
        if (way_ != Receiving::as_usual) { return; }
        for (const Message* message : to_me()) {
            if (message->late) { post_receive(*message, nullptr); }
        }
    }

    void post_early(const Iteration& next) {
        active_.clear();
        for (const Message& message : next.messages) {
            if (message.early && message.to == rank_) { post_receive(message, nullptr); }
        }
        early_.swap(active_);
    }

    void wavefront();
    void receive_blocking();
    void receive_usual(const Message& message);
    bool was_in_time(Operation& operation);
    void receive_any();
    void receive_probed();
    void receive_found(const Message& message, MPI_Message handle);
    void check(Operation& operation);
    const Message* take(int source, int tag);
    void take_any(Operation& operation);
    void complete();
    void verify();
    void end();
    void free_persistent();
    void free_some_active();

    const Log& log_;
    const Layouts& layouts_;
    Random& own_;
    Delays& delays_;
    MPI_Comm comm_;
    MPI_Comm side_;
    Wishes wishes_;
    Manner manner_;
    int rank_ = 0;
    const Iteration* now_ = nullptr;
    Receiving way_ = Receiving::as_usual;
    std::vector<Operation> receives_; ///< by slot
    std::vector<Operation> sends_;
    std::vector<std::unique_ptr<Operation>> extras_;
    std::vector<std::unique_ptr<Operation>> freed_; ///< memory of requests freed in flight
    std::vector<Operation*> active_;
    std::vector<Operation*> early_;
    std::vector<const Message*> left_; ///< messages to this rank that were not yet matched
};

} // namespace nodeaware::test
