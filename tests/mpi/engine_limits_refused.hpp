#pragma once

#include "tests/mpi/engine_limits.hpp"

namespace nodeaware::test {

/// Messages between two ranks that fail, or nearly: memory and requests that have no part in them
/// are left alone.
class Refused {
  public:
    explicit Refused(Program& program) : program_(program) {
        for (MPI_Comm comm : {MPI_COMM_WORLD, program_.side}) {
            MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        }
    }
    ~Refused() {
        for (MPI_Comm comm : {MPI_COMM_WORLD, program_.side}) {
            MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
        }
    }
    Refused(const Refused&) = delete;
    Refused& operator=(const Refused&) = delete;

    /// After a probe there is less room than it has told of.
    void cut(int bytes) const {
        constexpr int room = 100;
        std::vector<char> memory(static_cast<size_t>(bytes), sends() ? 's' : 'm');
        if (sends()) {
            MPI_Send(memory.data(), bytes, MPI_CHAR, program_.last, tag, MPI_COMM_WORLD);
        } else if (receives()) {
            MPI_Message message = MPI_MESSAGE_NULL;
            MPI_Mprobe(0, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            const int code = MPI_Mrecv(memory.data(), room, MPI_CHAR, &message, MPI_STATUS_IGNORE);
            program_.harness.expect(class_of(code) == MPI_ERR_TRUNCATE,
                                    "a cut message is no error");
            program_.harness.expect(std::all_of(memory.begin() + room, memory.end(),
                                                [](char byte) { return byte == 'm'; }),
                                    "a cut message is written behind the memory");
        }
        MPI_Barrier(program_.side);
    }

    /// A receive that nobody knows any more fails. Open MPI ends the job then.
    void freed() const {
        std::vector<char> memory(100, 'f');
        if (receives()) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(memory.data(), 10, MPI_CHAR, 0, tag, MPI_COMM_WORLD, &request);
            MPI_Request_free(&request);
        }
        MPI_Barrier(program_.side);
        if (sends()) { MPI_Send(memory.data(), 100, MPI_CHAR, program_.last, tag, MPI_COMM_WORLD); }
        MPI_Barrier(program_.side);
        for (int i = 0; i < 20; ++i) { back_and_forth(i); }
    }

    /// With too little memory attached, as some MPIs take it.
    void buffered(int bytes) const {
        std::vector<char> attached(300);
        std::vector<char> memory(static_cast<size_t>(bytes), 'b');
        MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
        int classes[2] = {MPI_SUCCESS, MPI_SUCCESS}; // by MPI, by the library
        const MPI_Comm comms[2] = {program_.side, MPI_COMM_WORLD};
        const int ranks[2] = {0, program_.last}; // on the side the order is the other way
        for (int i = 0; i < 2 && sends(); ++i) {
            classes[i] =
                class_of(MPI_Bsend(memory.data(), bytes, MPI_CHAR, ranks[i], tag, comms[i]));
        }
        program_.harness.expect(classes[0] == classes[1], "buffered messages are refused");
        MPI_Bcast(classes, 2, MPI_INT, program_.last, program_.side);
        for (int i = 0; i < 2 && receives(); ++i) {
            if (classes[i] != MPI_SUCCESS) { continue; }
            MPI_Recv(memory.data(), bytes, MPI_CHAR, i == 0 ? program_.last : 0, tag, comms[i],
                     MPI_STATUS_IGNORE);
        }
        if (sends()) { MPI_Bsend(memory.data(), 10, MPI_CHAR, program_.last, tag, MPI_COMM_WORLD); }
        if (receives()) {
            MPI_Recv(memory.data(), 10, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        void* detached = nullptr;
        int size = 0;
        MPI_Buffer_detach(static_cast<void*>(&detached), &size);
    }

  private:
    static constexpr int tag = 21;

    bool sends() const { return program_.rank == 0; }
    bool receives() const { return program_.rank == program_.last; }
    static int class_of(int code) {
        int error_class = MPI_SUCCESS;
        MPI_Error_class(code, &error_class);
        return error_class;
    }

    void back_and_forth(int value) const {
        if (!sends() && !receives()) { return; }
        const int peer = sends() ? program_.last : 0;
        int received = -1;
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Irecv(&received, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&value, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[1]);
        for (MPI_Request& request : requests) {
            program_.harness.expect(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS,
                                    "a request fails for another");
        }
        program_.harness.expect(received == value, "wrong value");
    }

    Program& program_;
};

inline void refused(Program& program, int /*count*/) {
    const Refused messages(program);
    for (const int bytes : {500, 1000, 3000, 5000, 20000}) { messages.cut(bytes); }
    if (!is_open_mpi()) { messages.freed(); }
    messages.buffered(2000);
}

} // namespace nodeaware::test
