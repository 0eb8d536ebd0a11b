// blocking_test FOLDER
//
// What waits in a container leaves before each function that may block.

#include "tests/mpi/blocking.hpp"

#include <array>
#include <string>
#include <vector>

namespace nodeaware::test {

namespace {

constexpr int receiver = LonelyMessages::receiver;

class Blocking {
  public:
    explicit Blocking(Harness& harness)
        : harness_(harness), messages_(harness), rank_(harness.rank()) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_, &reversed_);
        MPI_Info_create(&info_);
    }

    void collectives();
    void communicators();
    void connect(MPI_Comm made);
    void windows();
    void files(const std::string& folder);
    void buffered();
    void asked();

  private:
    void before(const char* name, const std::function<void()>& function) {
        messages_.before(name, function);
    }
    /// Of the reversed communicator.
    int root() const { return harness_.size() - 1 - receiver; }

    Harness& harness_;
    LonelyMessages messages_;
    int rank_;
    MPI_Comm reversed_ = MPI_COMM_NULL;
    MPI_Info info_ = MPI_INFO_NULL; ///< empty
};

void Blocking::collectives() {
    std::vector<int> in(16, 1);
    std::vector<int> out(16);
    const std::vector<int> ones(16, 1);
    const std::vector<int> places = {0, 1, 2, 3};
    const auto both = [&](const char* name, auto with_int, auto with_count) {
        before(name, with_int);
#ifdef NODEAWARE_MPI_LARGE_COUNTS
        before(name, with_count);
#else
        static_cast<void>(with_count);
#endif
    };
#ifdef NODEAWARE_MPI_LARGE_COUNTS
#define BOTH(name, ...)                                                                            \
    both(                                                                                          \
        #name, [&] { MPI_##name(__VA_ARGS__); }, [&] { MPI_##name##_c(__VA_ARGS__); })
#else
#define BOTH(name, ...)                                                                            \
    both(                                                                                          \
        #name, [&] { MPI_##name(__VA_ARGS__); }, 0)
#endif
    before("Barrier", [&] { MPI_Barrier(reversed_); });
    BOTH(Bcast, in.data(), 1, MPI_INT, root(), reversed_);
    BOTH(Allreduce, in.data(), out.data(), 1, MPI_INT, MPI_SUM, reversed_);
    BOTH(Allgather, in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, reversed_);
    BOTH(Scatter, in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, root(), reversed_);
    BOTH(Reduce_scatter_block, in.data(), out.data(), 1, MPI_INT, MPI_SUM, reversed_);
    BOTH(Scan, in.data(), out.data(), 1, MPI_INT, MPI_SUM, reversed_);
    BOTH(Exscan, in.data(), out.data(), 1, MPI_INT, MPI_SUM, reversed_);
    before("Allgatherv", [&] {
        MPI_Allgatherv(in.data(), 1, MPI_INT, out.data(), ones.data(), places.data(), MPI_INT,
                       reversed_);
    });
    before("Reduce_scatter", [&] {
        MPI_Reduce_scatter(in.data(), out.data(), ones.data(), MPI_INT, MPI_SUM, reversed_);
    });
#undef BOTH
}

void Blocking::communicators() {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm_group(reversed_, &group);
    before("Comm_dup", [&] { MPI_Comm_dup(reversed_, &made); });
    before("Comm_set_info", [&] { MPI_Comm_set_info(made, info_); });
    before("Comm_free", [&] { MPI_Comm_free(&made); });
    before("Comm_create_group", [&] { MPI_Comm_create_group(reversed_, group, 3, &made); });
    before("Comm_disconnect", [&] { MPI_Comm_disconnect(&made); });
    before("Comm_split_type",
           [&] { MPI_Comm_split_type(reversed_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made); });
    MPI_Comm_free(&made);
    MPI_Comm_split(MPI_COMM_WORLD, rank_ / 2, 0, &made);
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Comm merged = MPI_COMM_NULL;
    before("Intercomm_create", [&] {
        MPI_Intercomm_create(made, 0, MPI_COMM_WORLD, rank_ < 2 ? receiver : 0, 4, &inter);
    });
    before("Intercomm_merge", [&] { MPI_Intercomm_merge(inter, 0, &merged); });
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    if (is_open_mpi()) { connect(made); } // MPICH has no ports over UCX
    MPI_Comm_free(&made);
    MPI_Group_free(&group);
}

void Blocking::connect(MPI_Comm made) {
    MPI_Comm inter = MPI_COMM_NULL;
    std::array<char, MPI_MAX_PORT_NAME> port{};
    if (rank_ == receiver) { MPI_Open_port(MPI_INFO_NULL, port.data()); }
    MPI_Bcast(port.data(), MPI_MAX_PORT_NAME, MPI_CHAR, receiver, MPI_COMM_WORLD);
    before("Comm_connect", [&] {
        if (rank_ < 2) {
            MPI_Comm_connect(port.data(), MPI_INFO_NULL, 0, made, &inter);
        } else {
            MPI_Comm_accept(port.data(), MPI_INFO_NULL, 0, made, &inter);
        }
    });
    MPI_Comm_disconnect(&inter);
    if (rank_ == receiver) { MPI_Close_port(port.data()); }
}

void Blocking::windows() {
    int value = 0;
    void* memory = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    const auto finish = [&] {
        before("Win_fence", [&] { MPI_Win_fence(0, window); });
        before("Win_set_info", [&] { MPI_Win_set_info(window, info_); });
        before("Win_free", [&] { MPI_Win_free(&window); });
    };
    before("Win_create",
           [&] { MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, reversed_, &window); });
    finish();
    before("Win_create_dynamic",
           [&] { MPI_Win_create_dynamic(MPI_INFO_NULL, reversed_, &window); });
    MPI_Win_free(&window);
    before("Win_allocate",
           [&] { MPI_Win_allocate(sizeof value, 1, MPI_INFO_NULL, reversed_, &memory, &window); });
    finish();
#ifdef NODEAWARE_MPI_LARGE_COUNTS
    before("Win_allocate_c", [&] {
        MPI_Win_allocate_c(sizeof value, 1, MPI_INFO_NULL, reversed_, &memory, &window);
    });
    MPI_Win_free(&window);
    before("Win_create_c",
           [&] { MPI_Win_create_c(&value, sizeof value, 1, MPI_INFO_NULL, reversed_, &window); });
    MPI_Win_free(&window);
#endif
}

void Blocking::files(const std::string& folder) {
    MPI_File file = MPI_FILE_NULL;
    MPI_Status status;
    const std::string name = folder + "/blocking_test.data";
    std::vector<int> data(8, rank_);
    const auto at = static_cast<MPI_Offset>(sizeof(int) * 8) * rank_;
#define FILE_FUNCTION(function, ...) before(#function, [&] { MPI_##function(__VA_ARGS__); })
    FILE_FUNCTION(File_open, reversed_, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                  MPI_INFO_NULL, &file);
    FILE_FUNCTION(File_set_view, file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    FILE_FUNCTION(File_set_view, file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    FILE_FUNCTION(File_set_size, file, 1024);
    FILE_FUNCTION(File_preallocate, file, 1024);
    MPI_Offset size = 0;
    FILE_FUNCTION(File_get_size, file, &size);
    FILE_FUNCTION(File_seek, file, 0, MPI_SEEK_SET);
    FILE_FUNCTION(File_set_atomicity, file, 0);
    FILE_FUNCTION(File_set_info, file, info_);
    FILE_FUNCTION(File_sync, file);
    FILE_FUNCTION(File_seek_shared, file, 0, MPI_SEEK_SET);
    FILE_FUNCTION(File_write_ordered, file, data.data(), 8, MPI_INT, &status);
    FILE_FUNCTION(File_write_ordered_begin, file, data.data(), 8, MPI_INT);
    FILE_FUNCTION(File_write_ordered_end, file, data.data(), &status);
    FILE_FUNCTION(File_seek_shared, file, 0, MPI_SEEK_SET);
    FILE_FUNCTION(File_read_ordered, file, data.data(), 8, MPI_INT, &status);
    FILE_FUNCTION(File_read_ordered_begin, file, data.data(), 8, MPI_INT);
    FILE_FUNCTION(File_read_ordered_end, file, data.data(), &status);
    FILE_FUNCTION(File_write_all, file, data.data(), 8, MPI_INT, &status);
    FILE_FUNCTION(File_write_all_begin, file, data.data(), 8, MPI_INT);
    FILE_FUNCTION(File_write_all_end, file, data.data(), &status);
    FILE_FUNCTION(File_read_all_begin, file, data.data(), 8, MPI_INT);
    FILE_FUNCTION(File_read_all_end, file, data.data(), &status);
    data.assign(8, rank_);
    FILE_FUNCTION(File_write_at_all, file, at, data.data(), 8, MPI_INT, &status);
    FILE_FUNCTION(File_write_at_all_begin, file, at, data.data(), 8, MPI_INT);
    FILE_FUNCTION(File_write_at_all_end, file, data.data(), &status);
    FILE_FUNCTION(File_read_at_all, file, at, data.data(), 8, MPI_INT, &status);
    harness_.expect(data[7] == rank_, "wrong data were read");
    FILE_FUNCTION(File_read_at_all_begin, file, at, data.data(), 8, MPI_INT);
    FILE_FUNCTION(File_read_at_all_end, file, data.data(), &status);
    FILE_FUNCTION(File_close, &file);
#undef FILE_FUNCTION
    if (rank_ == 0) { MPI_File_delete(name.c_str(), MPI_INFO_NULL); }
}

/// Functions that a program calls until another rank has done something.
void Blocking::asked() {
    std::array<char, MPI_MAX_PORT_NAME> port{};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    before("Lookup_name", [&] { MPI_Lookup_name("nobody", MPI_INFO_NULL, port.data()); });
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
#ifdef NODEAWARE_MPI_LARGE_COUNTS // MPI 4
    int sent = rank_;
    int received = -1;
    int has_arrived = 0;
    std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Precv_init(&received, 1, 1, MPI_INT, rank_, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   requests.data());
    MPI_Psend_init(&sent, 1, 1, MPI_INT, rank_, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests.data());
    before("Parrived", [&] { MPI_Parrived(requests[0], 0, &has_arrived); });
    MPI_Pready(0, requests[1]);
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    for (MPI_Request& request : requests) { MPI_Request_free(&request); }
    harness_.expect(received == rank_, "a wrong part came");
#endif
}

/// MPI_Buffer_detach waits until a large message has been received.
void Blocking::buffered() {
    const std::vector<char> sent(4 << 20);
    std::vector<char> received(sent.size());
    std::vector<char> buffer(sent.size() + MPI_BSEND_OVERHEAD);
    MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
    before("Buffer_detach", [&] {
        if (rank_ == 0) {
            MPI_Bsend(sent.data(), static_cast<int>(sent.size()), MPI_CHAR, root(), 2, reversed_);
        }
        void* detached = nullptr;
        int size = 0;
        if (rank_ == 0) { MPI_Buffer_detach(&detached, &size); }
        if (rank_ == receiver) {
            MPI_Recv(received.data(), static_cast<int>(received.size()), MPI_CHAR,
                     harness_.size() - 1, 2, reversed_, MPI_STATUS_IGNORE);
        }
    });
    MPI_Comm_free(&reversed_);
    MPI_Info_free(&info_);
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    nodeaware::test::Harness harness(&argc, &argv);
    nodeaware::test::Blocking blocking(harness);
    blocking.collectives();
    blocking.communicators();
    blocking.windows();
    blocking.files(argc > 1 ? argv[1] : ".");
    blocking.buffered();
    blocking.asked();
    return harness.finish();
}
