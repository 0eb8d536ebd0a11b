#pragma once

#include "tests/mpi/batches_between.hpp"

namespace nodeaware::test {

/// Messages by Sendrecv along the ranks, in a ring or with open ends, repeated.
class Shifts {
  public:
    Shifts(const Log& log, const Layouts& layouts, Random plan, Random& own, Delays& delays,
           MPI_Comm comm)
        : log_(log), layouts_(layouts), plan_(plan), own_(own), delays_(delays), comm_(comm) {
        MPI_Comm_rank(comm, &rank_);
        MPI_Comm_size(comm, &size_);
        for (int i = draw(plan_, 1, 5); i > 0; --i) { steps_.push_back(draw_step()); }
        deviates_ = draw(plan_, 0, 1) == 0;
    }

    void run() {
        for (Step step : steps_) {
            const uint64_t key = plan_();
            if (deviates_ && draw(plan_, 0, 20) == 0) { step = draw_step(); }
            delays_.pause();
            pass(step, key);
        }
        const int value = draw(plan_, 0, 1000);
        delays_.pause();
        if (draw(plan_, 0, 5) == 0) {
            MPI_Barrier(comm_);
        } else {
            add_up(log_, comm_, value);
        }
    }

  private:
    struct Step {
        int distance = 0;
        int tag = 0;
        bool ring = true;
        bool replaces = false; ///< all messages have one size
        std::vector<int> units;
    };

    Step draw_step() {
        Step step;
        step.distance = draw(plan_, -2, 2);
        step.tag = draw(plan_, 0, 3);
        step.ring = draw(plan_, 0, 1) == 0;
        step.replaces = draw(plan_, 0, 3) == 0;
        const int most = draw(plan_, 0, 9) == 0 ? 15000 : 300;
        for (int i = 0; i < size_; ++i) { step.units.push_back(draw(plan_, 0, most)); }
        if (step.replaces) { step.units.assign(step.units.size(), step.units.front()); }
        return step;
    }

    int neighbor(const Step& step, int distance) const {
        const int other = rank_ + distance;
        if (!step.ring && (other < 0 || other >= size_)) { return MPI_PROC_NULL; }
        return (other + 2 * size_) % size_;
    }

    Message message_from(int from, const Step& step, uint64_t key) const {
        Message message;
        message.from = from;
        message.tag = from == MPI_PROC_NULL ? MPI_ANY_TAG : step.tag;
        message.units = from == MPI_PROC_NULL ? 0 : step.units[static_cast<size_t>(from)];
        message.key = key + static_cast<uint64_t>(from + 10) * 1000003;
        return message;
    }

    void pass(const Step& step, uint64_t key) {
        const int to = neighbor(step, step.distance);
        const int from = neighbor(step, -step.distance);
        const Message sent = message_from(rank_, step, key);
        const Message got = message_from(from, step, key);
        const Layout& layout = layouts_.at(layouts_.basic(1));
        const void* out = sent_.prepare_send(sent, layout);
        const int room = got.units + draw(own_, 0, 3);
        void* in = received_.prepare_receive(layout, room);
        MPI_Status status = fresh_status();
        MPI_Request request = MPI_REQUEST_NULL;
        switch (step.replaces ? -1 : draw(own_, 0, 9)) {
        case 0:
            MPI_Irecv(in, room, MPI_INT, from, step.tag, comm_, &request);
            MPI_Send(out, sent.units, MPI_INT, to, step.tag, comm_);
            MPI_Wait(&request, &status);
            if (nonblocking_from_nobody_is_broken && from == MPI_PROC_NULL) { return; }
            break;
        case 1:
            MPI_Isend(out, sent.units, MPI_INT, to, step.tag, comm_, &request);
            MPI_Recv(in, room, MPI_INT, from, step.tag, comm_, &status);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        case -1: return replace(step, sent, got, to);
        default:
            MPI_Sendrecv(out, sent.units, MPI_INT, to, step.tag, in, room, MPI_INT, from, step.tag,
                         comm_, &status);
        }
        check_status(log_, status, got, layout);
        log_.expect(received_.holds(got, layout), "wrong data in a shift", got);
    }

    void replace(const Step& step, const Message& sent, const Message& got, int to) {
        const Layout& layout = layouts_.at(layouts_.basic(1));
        void* data = received_.prepare_receive(layout, sent.units);
        received_.write(sent, layout);
        MPI_Status status = fresh_status();
        const int received = MPI_Sendrecv_replace(data, sent.units, MPI_INT, to, step.tag, got.from,
                                                  step.tag, comm_, &status);
        log_.expect(received == MPI_SUCCESS, "Sendrecv_replace failed");
        check_status(log_, status, got, layout);
        const bool nobody = got.from == MPI_PROC_NULL; // then the data stays
        log_.expect(received_.holds(nobody ? sent : got, layout), "wrong data replaced", got);
    }

    const Log& log_;
    const Layouts& layouts_;
    Random plan_;
    Random& own_;
    Delays& delays_;
    MPI_Comm comm_;
    int rank_ = 0;
    int size_ = 0;
    bool deviates_ = false;
    std::vector<Step> steps_;
    Buffer sent_;
    Buffer received_;
};

} // namespace nodeaware::test
