#pragma once

#include "tests/mpi/batches_message.hpp"

#include <sched.h>
#include <string>
#include <unistd.h>

namespace nodeaware::test {

/// What a rank checks, and where it is.
struct Log {
    Harness& harness;
    int phase = 0;
    int iteration = 0;
    const char* place = "";

    void expect(bool condition, const char* what) const {
        if (!condition) { fail(what); }
    }
    void expect(bool condition, const char* what, const Message& message) const {
        if (condition) { return; }
        fail(what + std::string(": ") + std::to_string(message.units) + " units from " +
             std::to_string(message.from) + " to " + std::to_string(message.to) + " tag " +
             std::to_string(message.tag) + " slot " + std::to_string(message.slot));
    }

  private:
    void fail(const std::string& what) const {
        harness.expect(false, "phase " + std::to_string(phase) + " on " + place + ", iteration " +
                                  std::to_string(iteration) + ": " + what);
    }
};

/// Sleeps at random points, if wanted.
class Delays {
  public:
    Delays(bool wanted, uint64_t seed) : wanted_(wanted), random_(seed) {}
    void pause() {
        if (wanted_ && draw(random_, 0, 15) == 0) {
            usleep(static_cast<useconds_t>(draw(random_, 0, 3000)));
        }
    }

  private:
    bool wanted_;
    Random random_;
};

/// A request of this rank.
struct Operation {
    enum class What { send, receive, nothing, cancelled, other };

    What what = What::other;
    Message message; ///< of a receive that may take any: with what it has room for
    Buffer buffer;
    MPI_Request request = MPI_REQUEST_NULL;
    bool persistent = false;
    bool any = false; ///< which message it takes is not known before
    MPI_Status status = {};
    bool has_status = false;
    bool strict = false; ///< MPI_ERROR of the status must be untouched
};

/// MPICH 4.0.2: the status of an Irecv from MPI_PROC_NULL has source 0 and tag 0.
inline const bool nonblocking_from_nobody_is_broken = !is_open_mpi();

constexpr int untouched_error = 77; ///< that the library may not overwrite

inline MPI_Status fresh_status() {
    MPI_Status status = {};
    status.MPI_SOURCE = status.MPI_TAG = -77;
    status.MPI_ERROR = untouched_error;
    return status;
}

/// Without an error MPI_ERROR is not touched. Open MPI 4.1.4 sets it all the same where calls
/// return several statuses, MPICH 4.0.2 in Waitall, Recv, Mrecv and the probes: `strict` where
/// neither does.
inline void check_status(const Log& log, const MPI_Status& status, const Message& message,
                         const Layout& layout, bool strict = false) {
    int count = -1;
    int units = -1;
    int cancelled = -1;
    MPI_Get_count(&status, layout.handle, &count);
    MPI_Get_elements(&status, layout.handle, &units);
    MPI_Test_cancelled(&status, &cancelled);
    const bool whole = message.units % layout.per_element() == 0;
    if (!nonblocking_from_nobody_is_broken || message.from != MPI_PROC_NULL) {
        log.expect(status.MPI_SOURCE == message.from, "wrong source", message);
        log.expect(status.MPI_TAG == message.tag, "wrong tag", message);
    }
    log.expect(count == (whole ? message.units / layout.per_element() : MPI_UNDEFINED),
               "wrong count", message);
    log.expect(units == message.units, "wrong number of units", message);
    log.expect(cancelled == 0, "cancelled", message);
    log.expect(status.MPI_ERROR == untouched_error || (!strict && status.MPI_ERROR == MPI_SUCCESS),
               "MPI_ERROR was changed", message);
}

inline void check_empty(const Log& log, const MPI_Status& status) {
    int count = -1;
    int cancelled = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Test_cancelled(&status, &cancelled);
    log.expect(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && count == 0 &&
                   cancelled == 0,
               "a status is not empty");
}

enum class Style { waits, waitall, waitany, waitsome, testall, testany, testsome, tests, count };

/// Completes requests the way a code may.
class Completion {
  public:
    Completion(const Log& log, Random& own, Delays& delays, std::vector<Operation*> operations,
               bool wants_statuses)
        : log_(log), own_(own), delays_(delays), operations_(std::move(operations)),
          statuses_(operations_.size(), fresh_status()) {
        for (const Operation* operation : operations_) {
            requests_.push_back(operation->request);
            wants_statuses =
                wants_statuses || operation->any || operation->what == Operation::What::cancelled;
            left_ += operation->what == Operation::What::nothing ? 0 : 1;
        }
        wants_statuses_ = wants_statuses;
        done_.assign(operations_.size(), false);
    }

    void run(Style style) {
        switch (style) {
        case Style::waits: wait_each(); break;
        case Style::waitall: MPI_Waitall(count(), requests_.data(), statuses()); break;
        case Style::testall: test_all(); break;
        case Style::waitany:
        case Style::testany: any_loop(style == Style::waitany); break;
        case Style::waitsome:
        case Style::testsome: some_loop(style == Style::waitsome); break;
        default: test_each();
        }
        const bool all = style == Style::waitall || style == Style::testall;
        for (size_t i = 0; i < operations_.size(); ++i) {
            operations_[i]->strict = style == Style::waits || style == Style::tests ||
                                     style == Style::waitany || style == Style::testany;
            finish(i, all);
        }
    }

  private:
    int count() const { return static_cast<int>(requests_.size()); }
    MPI_Status* statuses() { return wants_statuses_ ? statuses_.data() : MPI_STATUSES_IGNORE; }
    MPI_Status* status(size_t at) { return wants_statuses_ ? &statuses_[at] : MPI_STATUS_IGNORE; }

    void wait_each() {
        std::vector<size_t> order;
        for (size_t i = 0; i < requests_.size(); ++i) { order.push_back(i); }
        std::shuffle(order.begin(), order.end(), own_);
        for (const size_t at : order) {
            MPI_Wait(&requests_[at], status(at));
            delays_.pause();
        }
    }

    void test_all() {
        int flag = 0;
        while (flag == 0) {
            sched_yield();
            MPI_Testall(count(), requests_.data(), &flag, statuses());
        }
    }

    void test_each() {
        while (left_ > 0) {
            for (size_t i = 0; i < requests_.size(); ++i) {
                if (done_[i] || idle(i)) { continue; }
                int flag = 0;
                const bool known = draw(own_, 0, 3) == 0 && is_complete(requests_[i]);
                MPI_Test(&requests_[i], &flag, status(i));
                log_.expect(flag != 0 || !known, "complete, but not for Test");
                if (flag != 0) { take(i); }
            }
            sched_yield();
        }
    }

    static bool is_complete(MPI_Request request) {
        int flag = 0;
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        return flag != 0;
    }

    void any_loop(bool waits) {
        MPI_Status one = fresh_status();
        MPI_Status* given = wants_statuses_ ? &one : MPI_STATUS_IGNORE;
        while (left_ > 0) {
            int index = -77;
            int flag = 1;
            if (waits) {
                MPI_Waitany(count(), requests_.data(), &index, given);
            } else {
                MPI_Testany(count(), requests_.data(), &index, &flag, given);
            }
            if (flag == 0) {
                sched_yield();
                continue;
            }
            if (index < 0 || index >= count()) {
                log_.expect(false, "wrong index");
                return;
            }
            statuses_[static_cast<size_t>(index)] = one;
            take(static_cast<size_t>(index));
            one = fresh_status();
        }
        int index = 0;
        MPI_Waitany(count(), requests_.data(), &index, MPI_STATUS_IGNORE);
        log_.expect(index == MPI_UNDEFINED, "an index, and no request is active");
    }

    void some_loop(bool waits) {
        std::vector<int> indices(requests_.size() + 1);
        std::vector<MPI_Status> some(requests_.size() + 1, fresh_status());
        MPI_Status* given = wants_statuses_ ? some.data() : MPI_STATUSES_IGNORE;
        int completed = 0;
        while (left_ > 0) {
            const auto complete = waits ? MPI_Waitsome : MPI_Testsome;
            complete(count(), requests_.data(), &completed, indices.data(), given);
            if (completed == MPI_UNDEFINED || completed > count() || (waits && completed == 0)) {
                log_.expect(false, "wrong number of completions");
                return;
            }
            if (completed == 0) { sched_yield(); }
            for (size_t i = 0; i < static_cast<size_t>(completed); ++i) {
                statuses_[static_cast<size_t>(indices[i])] = some[i];
                take(static_cast<size_t>(indices[i]));
                some[i] = fresh_status();
            }
        }
        MPI_Testsome(count(), requests_.data(), &completed, indices.data(), MPI_STATUSES_IGNORE);
        log_.expect(completed == MPI_UNDEFINED, "completions, and no request is active");
    }

    bool idle(size_t at) const { return operations_[at]->what == Operation::What::nothing; }

    void take(size_t at) {
        log_.expect(!done_[at] && !idle(at), "completed twice");
        done_[at] = true;
        --left_;
        delays_.pause();
    }

    void finish(size_t at, bool all) {
        Operation& operation = *operations_[at];
        if (operation.persistent || idle(at)) {
            log_.expect(requests_[at] == operation.request, "a persistent request changed");
        } else {
            log_.expect(requests_[at] == MPI_REQUEST_NULL, "a request is left");
        }
        if (operation.what == Operation::What::send) {
            int cancelled = 0;
            if (wants_statuses_) { MPI_Test_cancelled(&statuses_[at], &cancelled); }
            log_.expect(cancelled == 0, "a send was cancelled", operation.message);
            operation.buffer.scribble();
        }
        operation.request = requests_[at];
        operation.status = statuses_[at];
        operation.has_status = wants_statuses_;
        if (idle(at) && all && wants_statuses_) { check_empty(log_, statuses_[at]); }
    }

    const Log& log_;
    Random& own_;
    Delays& delays_;
    std::vector<Operation*> operations_;
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Status> statuses_;
    std::vector<bool> done_;
    int left_ = 0;
    bool wants_statuses_ = false;
};

} // namespace nodeaware::test
