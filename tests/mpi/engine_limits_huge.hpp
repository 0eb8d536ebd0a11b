#pragma once

#include "tests/mpi/engine_limits.hpp"
#include "tests/mpi/space.hpp"

namespace nodeaware::test {

/// Messages of more than 2 GiB, one at a time.
class HugeMessages {
  public:
    explicit HugeMessages(Program& program)
        : program_(program), space_(is_sender() || is_receiver() ? bytes : 1) {
        MPI_Type_contiguous(mebibyte, MPI_CHAR, &dense_);
        // One element of all of it, with gaps.
        MPI_Type_create_hvector(many, mebibyte, mebibyte + gap, MPI_CHAR, &gapped_);
        for (MPI_Datatype* type : {&dense_, &gapped_}) { MPI_Type_commit(type); }
    }
    ~HugeMessages() {
        for (MPI_Datatype* type : {&dense_, &gapped_}) { MPI_Type_free(type); }
    }
    HugeMessages(const HugeMessages&) = delete;
    HugeMessages& operator=(const HugeMessages&) = delete;

    void straight() {
        pass(dense_, many, 1, 0, false);
        pass(gapped_, 1, 2, gap, true);
    }
    /// With a tag that has none for payloads.
    void copied() {
        pass(dense_, many, 100000, 0, false);
        pass(gapped_, 1, 100001, gap, true);
    }

  private:
    static constexpr int mebibyte = 1 << 20;
    static constexpr int many = 2060;
    static constexpr int gap = 64;
    static constexpr size_t bytes = size_t{many} * (mebibyte + gap);

    bool is_sender() const { return program_.rank == 0; }
    bool is_receiver() const { return program_.rank == program_.last; }

    void pass(MPI_Datatype type, int count, int tag, int distance, bool matches) {
        const auto mark = [&](size_t i) {
            return space_.data() + i * static_cast<size_t>(mebibyte + distance);
        };
        const auto value = [](size_t i) { return static_cast<char>(i % 101 + 1); };
        const auto clear = [&] {
            for (size_t i = 0; i < many; ++i) { std::memset(mark(i), 0, 64); }
        };
        if (is_sender()) {
            for (size_t i = 0; i < many; ++i) { std::memset(mark(i), value(i), 64); }
            MPI_Send(space_.data(), count, type, program_.last, tag, MPI_COMM_WORLD);
            clear();
        }
        if (!is_receiver()) { return; }
        MPI_Status status = {};
        MPI_Message message = MPI_MESSAGE_NULL;
        if (matches) {
            MPI_Mprobe(0, tag, MPI_COMM_WORLD, &message, &status);
            check(status);
            MPI_Mrecv(space_.data(), count, type, &message, &status);
        } else {
            MPI_Recv(space_.data(), count, type, 0, tag, MPI_COMM_WORLD, &status);
        }
        check(status);
        bool right = true;
        for (size_t i = 0; i < many; ++i) {
            right = right && mark(i)[0] == value(i) && mark(i)[63] == value(i) && mark(i)[64] == 0;
        }
        clear();
        program_.harness.expect(right,
                                "wrong bytes of more than 2 GiB" + what(distance, matches, tag));
    }

    static std::string what(int distance, bool matches, int tag) {
        return std::string(distance > 0 ? ", with gaps" : "") + (matches ? ", probed" : "") +
               ", tag " + std::to_string(tag);
    }

    void check(const MPI_Status& status) const {
        MPI_Count got = -1;
        MPI_Get_elements_x(&status, MPI_CHAR, &got);
        program_.harness.expect(got == MPI_Count{many} * mebibyte, "wrong count beyond 2 GiB");
    }

    Program& program_;
    Space space_;
    MPI_Datatype dense_ = MPI_DATATYPE_NULL;
    MPI_Datatype gapped_ = MPI_DATATYPE_NULL;
};

inline size_t available_kibibytes() {
    std::ifstream file("/proc/meminfo");
    size_t value = 0;
    for (std::string word; file >> word;) {
        if (word != "MemAvailable:") { continue; }
        file >> value;
        break;
    }
    return value;
}

inline void huge(Program& program, int /*count*/) {
    // Up to four copies are made of what is copied; and other tests run beside.
    constexpr size_t needed_kibibytes = size_t{14} << 20;
    int has_memory = available_kibibytes() > needed_kibibytes ? 1 : 0;
    PMPI_Bcast(&has_memory, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (has_memory == 0) { program.harness.skip("not enough memory"); }
    HugeMessages messages(program);
    messages.straight();
    messages.copied();
}

} // namespace nodeaware::test
