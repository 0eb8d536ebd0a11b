#pragma once

#include "tests/mpi/engine_limits.hpp"

#include <array>
#include <string>

namespace nodeaware::test {

/// A message from rank 0 to the last rank, in all ways in which it can be sent and received.
class Transfer {
  public:
    explicit Transfer(Program& program) : program_(program), attached_(3000000) {
        MPI_Type_vector(1, 1, 1, MPI_INT, &types_[0]);
        MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &types_[1]); // with gaps
        for (MPI_Datatype& type : types_) { MPI_Type_commit(&type); }
        MPI_Buffer_attach(attached_.data(), static_cast<int>(attached_.size()));
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    ~Transfer() {
        void* buffer = nullptr;
        int size = 0;
        MPI_Buffer_detach(&buffer, &size);
        for (MPI_Datatype& type : types_) { MPI_Type_free(&type); }
    }
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

  protected:
    struct Way {
        const char* name;
        void (Transfer::*run)();
        /// A receive with wildcards whose rank is away is told nothing of synchronous sends: the
        /// limit that the README names.
        bool is_synchronous = false;
        bool waits_for_any = false;
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

inline const std::vector<Transfer::Way> Transfer::send_ways = {
    {"Send", &Transfer::send},
    {"Ssend", &Transfer::ssend, true},
    {"Bsend", &Transfer::bsend},
    {"Isend", &Transfer::isend},
    {"Issend", &Transfer::issend, true},
    {"Send_init", &Transfer::persistent_send},
    {"Isend, Test", &Transfer::send_second},
};
inline const std::vector<Transfer::Way> Transfer::receive_ways = {
    {"Recv", &Transfer::receive},
    {"Recv from any", &Transfer::receive_from_any},
    {"Recv of any", &Transfer::receive_any},
    {"Irecv, Test", &Transfer::test},
    {"Irecv while away", &Transfer::away},
    {"Irecv from any while away", &Transfer::away_any_source, false, true},
    {"Irecv with any tag while away", &Transfer::away_any_tag, false, true},
    {"Irecv of any while away", &Transfer::away_any, false, true},
    {"Irecv behind a wildcard while away", &Transfer::away_behind_wildcard},
    {"Recv_init while away", &Transfer::away_persistent},
    {"Probe, Recv", &Transfer::probe},
    {"Iprobe, Irecv", &Transfer::iprobe},
    {"Mprobe, Mrecv", &Transfer::mprobe},
    {"Improbe, Imrecv", &Transfer::improbe},
};

} // namespace nodeaware::test
