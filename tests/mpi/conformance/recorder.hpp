#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

namespace nodeaware::conformance {

/// Memory between guards that nobody may write to.
class Memory {
  public:
    explicit Memory(size_t bytes) : bytes_(guard + bytes + guard, canary) {}
    /// Holds first, first + 1, ...
    static Memory of_ints(int count, int first);

    void* data() { return bytes_.data() + guard; }
    int* ints() { return static_cast<int*>(data()); }
    size_t size() const { return bytes_.size() - 2 * guard; }
    /// Checksum of what is between the guards, and whether these are as they were.
    std::string text() const;
    std::string guards() const;

  private:
    static constexpr size_t guard = 64;
    static constexpr unsigned char canary = 0x5a;
    std::vector<unsigned char> bytes_;
};

/// Writes what a rank sees of each case, in words that do not depend on handles, addresses and
/// error codes, line by line, so that nothing is lost where the process ends.
class Recorder {
  public:
    explicit Recorder(const std::string& path);
    ~Recorder();
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    void begin(int number, const std::string& name);
    void end();
    void line(const std::string& text);
    /// The class of what a call has returned, and which error handlers it has called.
    int call(const std::string& what, int code);
    /// Only whether it has failed, where MPI itself is not sure of the class.
    int roughly(const std::string& what, int code);
    void status(const std::string& what, const MPI_Status& status, MPI_Datatype type = MPI_INT);
    /// Statuses of a call that has returned MPI_ERR_IN_STATUS: fields of those without error.
    void statuses_of_error(const std::vector<MPI_Status>& statuses, MPI_Datatype type = MPI_INT);
    void value(const std::string& what, long long value);
    void data(const std::string& what, const Memory& memory);
    void guards(const std::string& what, const Memory& memory);

    /// Errors on `comm` call a handler that notes `name`.
    void watch(MPI_Comm comm, const std::string& name);
    /// Errors on `comm` are only returned.
    static void only_return(MPI_Comm comm);
    void forget(MPI_Comm comm);

    int descriptor() const { return file_; }

  private:
    static void note_error(MPI_Comm* comm, int* code, ...);
    std::string handlers_called(bool with_class);

    static Recorder* the_one; ///< a handler has no other way to it
    int file_ = -1;
    MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
    std::vector<std::pair<MPI_Comm, std::string>> names_;
    struct Called {
        std::string object;
        std::string class_name;
        int times = 0;
    };
    std::vector<Called> called_;
};

std::string class_name(int code);

/// A status in which nothing is yet as MPI would leave it.
MPI_Status fresh_status();

} // namespace nodeaware::conformance
