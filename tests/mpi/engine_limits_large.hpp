#pragma once

#include "tests/mpi/engine_limits.hpp"

#include <array>

namespace nodeaware::test {

/// Large messages from rank 0 to the last rank, in all ways in which they can be sent and received.
class LargeMessages {
  public:
    explicit LargeMessages(Program& program) : program_(program), attached_(3000000) {
        MPI_Type_vector(1, 1, 1, MPI_INT, &types_[0]);
        MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &types_[1]); // with gaps
        for (MPI_Datatype& type : types_) { MPI_Type_commit(&type); }
        MPI_Buffer_attach(attached_.data(), static_cast<int>(attached_.size()));
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    ~LargeMessages() {
        void* buffer = nullptr;
        int size = 0;
        MPI_Buffer_detach(&buffer, &size);
        for (MPI_Datatype& type : types_) { MPI_Type_free(&type); }
    }
    LargeMessages(const LargeMessages&) = delete;
    LargeMessages& operator=(const LargeMessages&) = delete;

    void run() {
        for (const int count : {2000, 80000}) {
            for (const int layout : {0, 1}) {
                for (const Way& sent : send_ways) {
                    for (const Way& received : receive_ways) {
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
    void far_ahead(int messages, int ints, bool is_away) {
        layout_ = 0;
        what_ = is_away ? "far ahead of a receiver that is away" : "far ahead";
        const auto total = static_cast<size_t>(messages);
        const auto ints_of = [&](size_t i) { return i % 7 == 3 ? 1 : ints; };
        std::vector<std::vector<int>> memory(total);
        std::vector<MPI_Request> requests(total, MPI_REQUEST_NULL);
        for (size_t i = 0; i < total && is_receiver(); ++i) {
            memory[i].resize(static_cast<size_t>(ints));
            if (!is_away) { continue; }
            MPI_Irecv(memory[i].data(), ints, MPI_INT, 0, tag, MPI_COMM_WORLD, &requests[i]);
        }
        if (is_receiver() && is_away) { MPI_Barrier(program_.side); }
        for (size_t i = 0; i < total && is_sender(); ++i) {
            memory[i].assign(static_cast<size_t>(ints), static_cast<int>(i));
            if (is_away) {
                MPI_Send(memory[i].data(), ints_of(i), MPI_INT, program_.last, tag, MPI_COMM_WORLD);
                memory[i].clear();
                memory[i].shrink_to_fit();
            } else {
                MPI_Isend(memory[i].data(), ints_of(i), MPI_INT, program_.last, tag, MPI_COMM_WORLD,
                          &requests[i]);
            }
        }
        if (!is_receiver() || !is_away) { MPI_Barrier(program_.side); }
        for (size_t i = 0; i < total && is_receiver() && !is_away; ++i) {
            MPI_Recv(memory[i].data(), ints, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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

  private:
    struct Way {
        const char* name;
        void (LargeMessages::*run)();
    };
    static const std::vector<Way> send_ways;
    static const std::vector<Way> receive_ways;

    static constexpr int tag = 11;
    static constexpr int filler = -5;

    bool is_sender() const { return program_.rank == 0; }
    bool is_receiver() const { return program_.rank == program_.last; }
    MPI_Datatype type() const { return types_[static_cast<size_t>(layout_)]; }
    size_t stride() const { return layout_ == 0 ? 1 : 3; }
    void expect(bool condition, const char* what) const {
        program_.harness.expect(condition, what_ + ": " + what);
    }
    static int error_class(int code) {
        int result = MPI_SUCCESS;
        MPI_Error_class(code, &result);
        return result;
    }

    void clear() { memory_.assign(static_cast<size_t>(count_) * stride() + 1, filler); }
    int value(size_t i) const { return static_cast<int>(i * 31) + count_ + round_; }
    void fill() {
        clear();
        for (size_t i = 0; i < static_cast<size_t>(count_); ++i) {
            memory_[i * stride()] = value(i);
        }
    }
    void check(const MPI_Status& status, int expected) const {
        int count = -1;
        MPI_Get_count(&status, type(), &count);
        expect(count == expected, "wrong count");
        expect(status.MPI_SOURCE == (is_sender() ? program_.last : 0), "wrong source");
        expect(status.MPI_TAG == tag, "wrong tag");
        bool right = memory_.back() == filler;
        for (size_t i = 0; i < static_cast<size_t>(expected); ++i) {
            right = right && memory_[i * stride()] == value(i);
        }
        expect(right, "wrong bytes");
    }

    /// MPICH raises errors of MPI_Wait on MPI_COMM_WORLD, which has a handler here.
    static int wait_without_abort(MPI_Request* request, MPI_Status* status) {
        return MPI_Wait(request, status);
    }

    void pass(const Way& sent, const Way& received) {
        ++round_;
        is_posted_ = false;
        if (is_receiver()) {
            clear();
            (this->*received.run)();
            check(status_, count_);
        } else {
            if (is_sender()) {
                fill();
                (this->*sent.run)();
            }
            meet();
        }
    }

    /// Where all ranks meet. The sender comes when its message is sent, so whoever is away here
    /// with a receive posted must be served by MPI alone.
    void meet() const {
        int sum = 0;
        MPI_Allreduce(&program_.rank, &sum, 1, MPI_INT, MPI_SUM, program_.side);
    }

    void finish(MPI_Request& request) {
        MPI_Wait(&request, &status_);
        if (request != MPI_REQUEST_NULL) { MPI_Request_free(&request); }
    }

    // Sending.
    void send() { MPI_Send(memory_.data(), count_, type(), program_.last, tag, MPI_COMM_WORLD); }
    void ssend() { MPI_Ssend(memory_.data(), count_, type(), program_.last, tag, MPI_COMM_WORLD); }
    void bsend() {
        MPI_Bsend(memory_.data(), count_, type(), program_.last, tag, MPI_COMM_WORLD);
        memory_.assign(memory_.size(), 0);
    }
    void isend() {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(memory_.data(), count_, type(), program_.last, tag, MPI_COMM_WORLD, &request);
        finish(request);
    }
    void issend() {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Issend(memory_.data(), count_, type(), program_.last, tag, MPI_COMM_WORLD, &request);
        finish(request);
    }
    void persistent_send() {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Send_init(memory_.data(), count_, type(), program_.last, tag, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        finish(request);
    }
    /// The message after a small one on the same channel, which is received first.
    void send_second() {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(memory_.data(), count_, type(), program_.last, tag, MPI_COMM_WORLD, &request);
        int flag = 0;
        while (flag == 0) { MPI_Test(&request, &flag, MPI_STATUS_IGNORE); }
    }

    // Receiving, and meeting the others before or after.
    void receive() {
        MPI_Recv(memory_.data(), count_, type(), 0, tag, MPI_COMM_WORLD, &status_);
        meet();
    }
    void receive_from_any() {
        MPI_Recv(memory_.data(), count_, type(), MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status_);
        meet();
    }
    void receive_any() {
        MPI_Recv(memory_.data(), count_, type(), MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status_);
        meet();
    }
    void post(int source, int with) {
        MPI_Irecv(memory_.data(), count_, type(), source, with, MPI_COMM_WORLD, &request_);
    }
    void test() {
        post(0, tag);
        int flag = 0;
        while (flag == 0) { MPI_Test(&request_, &flag, &status_); }
        meet();
    }
    void away() {
        post(0, tag);
        meet();
        finish(request_);
    }
    void away_any_source() {
        post(MPI_ANY_SOURCE, tag);
        meet();
        finish(request_);
    }
    void away_any_tag() {
        post(0, MPI_ANY_TAG);
        meet();
        finish(request_);
    }
    void away_any() {
        post(MPI_ANY_SOURCE, MPI_ANY_TAG);
        meet();
        finish(request_);
    }
    /// Behind a receive that might take the message, and does not.
    void away_behind_wildcard() {
        int nothing = 0;
        MPI_Request other = MPI_REQUEST_NULL;
        MPI_Irecv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, tag + 1, MPI_COMM_WORLD, &other);
        post(0, tag);
        meet();
        finish(request_);
        MPI_Cancel(&other);
        MPI_Wait(&other, MPI_STATUS_IGNORE);
    }
    void away_persistent() {
        MPI_Recv_init(memory_.data(), count_, type(), 0, tag, MPI_COMM_WORLD, &request_);
        MPI_Start(&request_);
        meet();
        finish(request_);
    }
    void probe() {
        MPI_Probe(0, tag, MPI_COMM_WORLD, &status_);
        check_probed();
        receive();
    }
    void iprobe() {
        int flag = 0;
        while (flag == 0) {
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status_);
        }
        check_probed();
        away();
    }
    void mprobe() {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Mprobe(0, tag, MPI_COMM_WORLD, &message, &status_);
        check_probed();
        MPI_Mrecv(memory_.data(), count_, type(), &message, &status_);
        meet();
    }
    void improbe() {
        MPI_Message message = MPI_MESSAGE_NULL;
        int flag = 0;
        while (flag == 0) {
            MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &message, &status_);
        }
        check_probed();
        MPI_Imrecv(memory_.data(), count_, type(), &message, &request_);
        meet();
        finish(request_);
    }
    void check_probed() const {
        int count = -1;
        MPI_Get_count(&status_, type(), &count);
        expect(count == count_, "wrong count of a probe");
    }

    Program& program_;
    std::vector<char> attached_;
    std::array<MPI_Datatype, 2> types_ = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    std::vector<int> memory_;
    MPI_Request request_ = MPI_REQUEST_NULL;
    MPI_Status status_ = {};
    int count_ = 0;
    int layout_ = 0;
    int round_ = 0;
    bool is_posted_ = false;
    std::string what_;
};

inline const std::vector<LargeMessages::Way> LargeMessages::send_ways = {
    {"Send", &LargeMessages::send},
    {"Ssend", &LargeMessages::ssend},
    {"Bsend", &LargeMessages::bsend},
    {"Isend", &LargeMessages::isend},
    {"Issend", &LargeMessages::issend},
    {"Send_init", &LargeMessages::persistent_send},
    {"Isend, Test", &LargeMessages::send_second},
};
inline const std::vector<LargeMessages::Way> LargeMessages::receive_ways = {
    {"Recv", &LargeMessages::receive},
    {"Recv from any", &LargeMessages::receive_from_any},
    {"Recv of any", &LargeMessages::receive_any},
    {"Irecv, Test", &LargeMessages::test},
    {"Irecv while away", &LargeMessages::away},
    {"Irecv from any while away", &LargeMessages::away_any_source},
    {"Irecv with any tag while away", &LargeMessages::away_any_tag},
    {"Irecv of any while away", &LargeMessages::away_any},
    {"Irecv behind a wildcard while away", &LargeMessages::away_behind_wildcard},
    {"Recv_init while away", &LargeMessages::away_persistent},
    {"Probe, Recv", &LargeMessages::probe},
    {"Iprobe, Irecv", &LargeMessages::iprobe},
    {"Mprobe, Mrecv", &LargeMessages::mprobe},
    {"Improbe, Imrecv", &LargeMessages::improbe},
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
    messages.far_ahead(count, 1500, false);
    messages.far_ahead(count, 1500, true);
    messages.far_ahead(count / 2, 30000, true);
}

} // namespace nodeaware::test
