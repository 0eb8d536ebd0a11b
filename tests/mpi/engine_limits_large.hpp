#pragma once

#include "tests/mpi/engine_limits_transfer.hpp"

namespace nodeaware::test {

/// Large messages, and what may happen to them.
class LargeMessages : Transfer {
  public:
    using Transfer::Transfer;

    void run() {
        for (const int count : {2000, 80000}) {
            for (const int layout : {0, 1}) {
                for (const Way& sent : send_ways) {
                    for (const Way& received : receive_ways) {
                        if (sent.is_synchronous && received.waits_for_any) { continue; }
                        count_ = count;
                        layout_ = layout;
                        what_ = std::string(sent.name) + " to " + received.name + ", " +
                                std::to_string(count) + (layout == 0 ? "" : " with gaps");
                        pass(sent, received);
                    }
                }
            }
        }
    }

    void sendrecv() {
        count_ = 80000;
        layout_ = 1;
        what_ = "Sendrecv";
        const int partner = is_sender() ? program_.last : 0;
        if (!is_sender() && !is_receiver()) { return; }
        for (int round = 0; round < 5; ++round) {
            fill();
            std::vector<int> other(memory_.size(), filler);
            MPI_Status status = {};
            MPI_Sendrecv(memory_.data(), count_, type(), partner, tag, other.data(), count_, type(),
                         partner, tag, MPI_COMM_WORLD, &status);
            memory_.swap(other);
            check(status, count_);
            fill();
            MPI_Sendrecv_replace(memory_.data(), count_, type(), partner, tag, partner, tag,
                                 MPI_COMM_WORLD, &status);
            check(status, count_);
        }
    }

    /// The receive has less room than the message needs.
    void truncate() {
        layout_ = 0;
        for (const int count : {10, 80000}) {
            count_ = count;
            what_ = "truncation of " + std::to_string(count);
            const int room = count - 2;
            if (is_sender()) {
                fill();
                MPI_Send(memory_.data(), count_, type(), program_.last, tag, MPI_COMM_WORLD);
                MPI_Send(memory_.data(), count_, type(), program_.last, tag, MPI_COMM_WORLD);
            }
            if (is_receiver()) {
                clear();
                MPI_Status status = {};
                int code = MPI_Recv(memory_.data(), room, type(), 0, tag, MPI_COMM_WORLD, &status);
                expect(error_class(code) == MPI_ERR_TRUNCATE, "another error");
                expect(memory_[static_cast<size_t>(room)] == filler, "bytes behind the memory");
                clear();
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Irecv(memory_.data(), room, type(), 0, tag, MPI_COMM_WORLD, &request);
                code = wait_without_abort(&request, &status);
                expect(error_class(code) == MPI_ERR_TRUNCATE, "another error of a request");
                expect(memory_[static_cast<size_t>(room)] == filler, "bytes behind the memory");
            }
            MPI_Barrier(program_.side);
        }
    }

    /// Receives are posted and open while their rank is away in a collective call; some are
    /// cancelled then.
    void cancel() {
        count_ = 20000;
        layout_ = 0;
        what_ = "cancelled receives";
        std::vector<std::vector<int>> memory(4, std::vector<int>(static_cast<size_t>(count_)));
        std::vector<MPI_Request> requests(4, MPI_REQUEST_NULL);
        for (size_t i = 0; i < 4 && is_receiver(); ++i) {
            MPI_Irecv(memory[i].data(), count_, MPI_INT, 0, tag, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Barrier(program_.side);
        for (const size_t i : {size_t{1}, size_t{3}}) {
            if (!is_receiver()) { break; }
            MPI_Status status = {};
            int cancelled = 0;
            MPI_Cancel(&requests[i]);
            MPI_Wait(&requests[i], &status);
            MPI_Test_cancelled(&status, &cancelled);
            expect(cancelled != 0, "not cancelled");
        }
        MPI_Barrier(program_.side);
        for (const int key : {1, 2}) {
            if (!is_sender()) { break; }
            std::vector<int> sent(static_cast<size_t>(count_), key);
            MPI_Send(sent.data(), count_, MPI_INT, program_.last, tag, MPI_COMM_WORLD);
        }
        MPI_Barrier(program_.side);
        if (!is_receiver()) { return; }
        MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
        expect(memory[0].back() == 1 && memory[2].back() == 2, "another message");
    }

    /// Many messages on one channel before the first is received, by a receiver that has posted
    /// all of its receives and is away, or none. Large and small ones follow each other.
    void far_ahead(int messages, int ints, int used_tag, bool is_away) {
        layout_ = 0;
        what_ = is_away ? "far ahead of a receiver that is away" : "far ahead";
        const auto total = static_cast<size_t>(messages);
        const auto ints_of = [&](size_t i) { return i % 7 == 3 ? 1 : ints; };
        std::vector<std::vector<int>> memory(total);
        std::vector<MPI_Request> requests(total, MPI_REQUEST_NULL);
        for (size_t i = 0; i < total && is_receiver(); ++i) {
            memory[i].resize(static_cast<size_t>(ints));
            if (!is_away) { continue; }
            MPI_Irecv(memory[i].data(), ints, MPI_INT, 0, used_tag, MPI_COMM_WORLD, &requests[i]);
        }
        if (is_receiver() && is_away) { MPI_Barrier(program_.side); }
        for (size_t i = 0; i < total && is_sender(); ++i) {
            memory[i].assign(static_cast<size_t>(ints), static_cast<int>(i));
            if (is_away) {
                MPI_Send(memory[i].data(), ints_of(i), MPI_INT, program_.last, used_tag,
                         MPI_COMM_WORLD);
                memory[i].clear();
                memory[i].shrink_to_fit();
            } else {
                MPI_Isend(memory[i].data(), ints_of(i), MPI_INT, program_.last, used_tag,
                          MPI_COMM_WORLD, &requests[i]);
            }
        }
        if (!is_receiver() || !is_away) { MPI_Barrier(program_.side); }
        for (size_t i = 0; i < total && is_receiver() && !is_away; ++i) {
            MPI_Recv(memory[i].data(), ints, MPI_INT, 0, used_tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
        MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
        bool right = true;
        for (size_t i = 0; i < total && is_receiver(); ++i) {
            right = right && memory[i][0] == static_cast<int>(i) &&
                    memory[i][static_cast<size_t>(ints_of(i)) - 1] == static_cast<int>(i);
        }
        expect(right, "wrong values");
    }

    /// Freed communicators: what is under way arrives.
    void free_communicator() {
        count_ = 80000;
        layout_ = 0;
        what_ = "a freed communicator";
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        program_.learn(made);
        MPI_Request request = MPI_REQUEST_NULL;
        if (is_sender()) {
            fill();
            MPI_Isend(memory_.data(), count_, type(), program_.last, tag, made, &request);
        } else if (is_receiver()) {
            clear();
            MPI_Irecv(memory_.data(), count_, type(), 0, tag, made, &request);
        }
        MPI_Comm_free(&made);
        MPI_Barrier(program_.side);
        MPI_Status status = {};
        MPI_Wait(&request, &status);
        if (is_receiver()) { check(status, count_); }
    }
};

inline void large(Program& program, int /*count*/) {
    LargeMessages messages(program);
    messages.run();
    messages.sendrecv();
    messages.cancel();
    messages.truncate();
    messages.free_communicator();
}

inline void far_ahead(Program& program, int count) {
    LargeMessages messages(program);
    // Beyond the windows of PayloadTags.
    constexpr int usual_tag = 12;
    constexpr int large_tag = 5000;
    messages.far_ahead(2 * count, 1500, usual_tag, false);
    messages.far_ahead(2 * count, 1500, usual_tag, true);
    messages.far_ahead(count, 1500, large_tag, false);
    messages.far_ahead(count, 1500, large_tag, true);
    messages.far_ahead(count / 2, 30000, large_tag, true);
}

} // namespace nodeaware::test
