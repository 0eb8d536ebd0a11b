// profiling_calls_test FOLDER [FUNCTION]
//
// What waits in a container leaves before functions that may block also where they are called by
// their profiling names; before all that are tested here, or before one.

#include "tests/mpi/blocking.hpp"

#include <array>
#include <string>
#include <vector>

namespace nodeaware::test {

namespace {

constexpr int receiver = LonelyMessages::receiver;
constexpr int tag = 7;

class ProfilingCalls {
  public:
    ProfilingCalls(Harness& harness, std::string only)
        : harness_(harness), messages_(harness), only_(std::move(only)), rank_(harness.rank()) {
        PMPI_Comm_dup(MPI_COMM_WORLD, &side_);
    }

    void collectives();
    void others(const std::string& folder);
    void messages();
    void polling();
    void requests();
    void finish() {
        PMPI_Comm_free(&side_);
        harness_.expect(only_.empty() || is_found_, "no such function: " + only_);
    }

  private:
    void before(const char* name, const std::function<void()>& function) {
        if (!only_.empty() && only_ != name) { return; }
        is_found_ = true;
        messages_.before(name, function);
    }
    /// On ranks 0 and 1, each of which gets a message there from its peer on the other node.
    void before_receipt(const char* name, const std::function<void()>& function) {
        before(name, [&] {
            if (rank_ < 2) {
                received_ = -1;
                function();
                harness_.expect(received_ == peer(), std::string(name) + " gets nothing");
            } else {
                PMPI_Send(&rank_, 1, MPI_INT, peer(), tag, side_);
            }
        });
    }
    /// On ranks 0 and 1, each of which sends to its peer.
    void before_sending(const char* name, const std::function<void()>& function) {
        before(name, [&] {
            if (rank_ < 2) { return function(); }
            received_ = -1;
            receive();
            harness_.expect(received_ == peer(), std::string(name) + " sends nothing");
        });
    }
    int peer() const { return (rank_ + 2) % 4; }
    MPI_Request begun_receive() {
        MPI_Request request = MPI_REQUEST_NULL;
        PMPI_Irecv(&received_, 1, MPI_INT, peer(), tag, side_, &request);
        return request;
    }
    void receive() { PMPI_Recv(&received_, 1, MPI_INT, peer(), tag, side_, MPI_STATUS_IGNORE); }

    Harness& harness_;
    LonelyMessages messages_;
    std::string only_;
    bool is_found_ = false;
    int rank_;
    int received_ = -1;
    MPI_Comm side_ = MPI_COMM_NULL; ///< of all; where profiling names are used
};

void ProfilingCalls::collectives() {
    std::vector<int> in(16, 1);
    std::vector<int> out(16);
    const std::vector<int> ones(16, 1);
    const std::vector<int> places = {0, 1, 2, 3};
    const std::vector<MPI_Datatype> types(16, MPI_INT);
    const std::vector<int> bytes = {0, 4, 8, 12};
    MPI_Request request = MPI_REQUEST_NULL;
    before("Barrier", [&] { PMPI_Barrier(side_); });
    before("Alltoall",
           [&] { PMPI_Alltoall(in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, side_); });
    before("Alltoallv", [&] {
        PMPI_Alltoallv(in.data(), ones.data(), places.data(), MPI_INT, out.data(), ones.data(),
                       places.data(), MPI_INT, side_);
    });
    before("Alltoallw", [&] {
        PMPI_Alltoallw(in.data(), ones.data(), bytes.data(), types.data(), out.data(), ones.data(),
                       bytes.data(), types.data(), side_);
    });
    before("Bcast", [&] { PMPI_Bcast(in.data(), 1, MPI_INT, receiver, side_); });
    before("Allreduce", [&] { PMPI_Allreduce(in.data(), out.data(), 1, MPI_INT, MPI_SUM, side_); });
    before("Gather",
           [&] { PMPI_Gather(in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, receiver, side_); });
    before("Scan", [&] { PMPI_Scan(in.data(), out.data(), 1, MPI_INT, MPI_SUM, side_); });
#ifdef NODEAWARE_MPI_LARGE_COUNTS
    before("Alltoall_c",
           [&] { PMPI_Alltoall_c(in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, side_); });
    before("Bcast_c", [&] { PMPI_Bcast_c(in.data(), 1, MPI_INT, receiver, side_); });
#endif
    // Begun by a function that never waits.
    before("Ibarrier and Wait", [&] {
        PMPI_Ibarrier(side_, &request);
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    before("Ialltoall and Waitall", [&] {
        PMPI_Ialltoall(in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, side_, &request);
        PMPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    });
}

void ProfilingCalls::others(const std::string& folder) {
    int value = 0;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Win window = MPI_WIN_NULL;
    MPI_File file = MPI_FILE_NULL;
    MPI_Status status;
    const std::string name = folder + "/profiling_calls_test.data";
    before("Comm_dup", [&] {
        PMPI_Comm_dup(side_, &made);
        PMPI_Comm_free(&made);
    });
    before("Comm_split", [&] {
        PMPI_Comm_split(side_, 0, -rank_, &made);
        PMPI_Comm_free(&made);
    });
    before("Win_create", [&] {
        PMPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, side_, &window);
        PMPI_Win_free(&window);
    });
    before("File_open", [&] {
        PMPI_File_open(side_, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        PMPI_File_write_ordered(file, &rank_, 1, MPI_INT, &status);
        PMPI_File_close(&file);
    });
    if (rank_ == 0) { PMPI_File_delete(name.c_str(), MPI_INFO_NULL); }
}

void ProfilingCalls::messages() {
    std::vector<char> buffer(4096);
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;
    before_receipt("Recv", [&] { receive(); });
    before_receipt("Probe", [&] {
        PMPI_Probe(peer(), tag, side_, &status);
        receive();
    });
    before_receipt("Mprobe", [&] {
        PMPI_Mprobe(peer(), tag, side_, &message, &status);
        PMPI_Mrecv(&received_, 1, MPI_INT, &message, &status);
    });
    before_sending("Send", [&] { PMPI_Send(&rank_, 1, MPI_INT, peer(), tag, side_); });
    before_sending("Ssend", [&] { PMPI_Ssend(&rank_, 1, MPI_INT, peer(), tag, side_); });
    before_sending("Bsend", [&] {
        int size = 0;
        void* detached = nullptr;
        PMPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
        PMPI_Bsend(&rank_, 1, MPI_INT, peer(), tag, side_);
        PMPI_Buffer_detach(&detached, &size);
    });
    before("Sendrecv", [&] {
        PMPI_Sendrecv(&rank_, 1, MPI_INT, peer(), tag, &received_, 1, MPI_INT, peer(), tag, side_,
                      &status);
    });
    before("Sendrecv_replace", [&] {
        received_ = rank_;
        PMPI_Sendrecv_replace(&received_, 1, MPI_INT, peer(), tag, peer(), tag, side_, &status);
    });
#ifdef NODEAWARE_MPI_LARGE_COUNTS
    before_receipt("Recv_c", [&] {
        PMPI_Recv_c(&received_, 1, MPI_INT, peer(), tag, side_, MPI_STATUS_IGNORE);
    });
#endif
}

void ProfilingCalls::polling() {
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;
    before_receipt("Iprobe", [&] {
        for (int flag = 0; flag == 0;) { PMPI_Iprobe(peer(), tag, side_, &flag, &status); }
        receive();
    });
    before_receipt("Improbe", [&] {
        for (int flag = 0; flag == 0;) {
            PMPI_Improbe(peer(), tag, side_, &flag, &message, &status);
        }
        PMPI_Mrecv(&received_, 1, MPI_INT, &message, &status);
    });
    before_receipt("Test", [&] {
        MPI_Request request = begun_receive();
        for (int flag = 0; flag == 0;) { PMPI_Test(&request, &flag, &status); }
    });
    before_receipt("Testall", [&] {
        MPI_Request request = begun_receive();
        for (int flag = 0; flag == 0;) { PMPI_Testall(1, &request, &flag, &status); }
    });
    before_receipt("Testany", [&] {
        MPI_Request request = begun_receive();
        for (int flag = 0, index = 0; flag == 0;) {
            PMPI_Testany(1, &request, &index, &flag, &status);
        }
    });
    before_receipt("Testsome", [&] {
        MPI_Request request = begun_receive();
        for (int done = 0, index = 0; done == 0;) {
            PMPI_Testsome(1, &request, &done, &index, &status);
        }
    });
    before_receipt("Request_get_status", [&] {
        MPI_Request request = begun_receive();
        for (int flag = 0; flag == 0;) { PMPI_Request_get_status(request, &flag, &status); }
        PMPI_Request_free(&request);
    });
}

void ProfilingCalls::requests() {
    MPI_Status status;
    int index = 0;
    int done = 0;
    before_receipt("Wait", [&] {
        MPI_Request request = begun_receive();
        PMPI_Wait(&request, &status);
    });
    before_receipt("Waitall", [&] {
        MPI_Request request = begun_receive();
        PMPI_Waitall(1, &request, &status);
    });
    before_receipt("Waitany", [&] {
        MPI_Request request = begun_receive();
        PMPI_Waitany(1, &request, &index, &status);
    });
    before_receipt("Waitsome", [&] {
        MPI_Request request = begun_receive();
        PMPI_Waitsome(1, &request, &done, &index, &status);
    });
    before_receipt("Start and Wait", [&] {
        MPI_Request request = MPI_REQUEST_NULL;
        PMPI_Recv_init(&received_, 1, MPI_INT, peer(), tag, side_, &request);
        PMPI_Start(&request);
        PMPI_Wait(&request, &status);
        PMPI_Request_free(&request);
    });
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    nodeaware::test::Harness harness(&argc, &argv);
    nodeaware::test::ProfilingCalls calls(harness, argc > 2 ? argv[2] : "");
    calls.collectives();
    calls.others(argc > 1 ? argv[1] : ".");
    calls.messages();
    calls.polling();
    calls.requests();
    calls.finish();
    return harness.finish();
}
