#include "tests/mpi/conformance/recorder.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace nodeaware::conformance {

namespace {

constexpr int untouched = -99;

#define CLASS(name)                                                                                \
    { MPI_ERR_##name, #name }
const std::vector<std::pair<int, const char*>> class_names = {
    {MPI_SUCCESS, "SUCCESS"},
    CLASS(BUFFER),
    CLASS(COUNT),
    CLASS(TYPE),
    CLASS(TAG),
    CLASS(COMM),
    CLASS(RANK),
    CLASS(REQUEST),
    CLASS(ROOT),
    CLASS(GROUP),
    CLASS(OP),
    CLASS(TOPOLOGY),
    CLASS(DIMS),
    CLASS(ARG),
    CLASS(UNKNOWN),
    CLASS(TRUNCATE),
    CLASS(OTHER),
    CLASS(INTERN),
    CLASS(PENDING),
    CLASS(IN_STATUS),
    CLASS(INFO),
    CLASS(KEYVAL),
    CLASS(NO_MEM),
    CLASS(WIN),
    CLASS(FILE),
    CLASS(NO_SUCH_FILE),
    CLASS(AMODE),
    CLASS(ACCESS),
    CLASS(SIZE),
    CLASS(DISP),
    CLASS(ASSERT),
    CLASS(LOCKTYPE),
    CLASS(RMA_SYNC),
    CLASS(UNSUPPORTED_OPERATION),
    CLASS(READ_ONLY),
    CLASS(IO),
    CLASS(BAD_FILE),
    CLASS(DUP_DATAREP),
    CLASS(UNSUPPORTED_DATAREP),
};
#undef CLASS

std::string hexadecimal(uint64_t value) {
    char text[20];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
    return text;
}

} // namespace

Memory Memory::of_ints(int count, int first) {
    Memory memory(static_cast<size_t>(count) * sizeof(int));
    for (int i = 0; i < count; ++i) { memory.ints()[i] = first + i; }
    return memory;
}

std::string Memory::text() const {
    uint64_t sum = 0xcbf29ce484222325U;
    std::for_each(bytes_.begin() + guard, bytes_.end() - guard,
                  [&](unsigned char byte) { sum = (sum ^ byte) * 0x100000001b3U; });
    return hexadecimal(sum) + " " + guards();
}

std::string Memory::guards() const {
    const auto is_canary = [](unsigned char byte) { return byte == canary; };
    const bool before = std::all_of(bytes_.begin(), bytes_.begin() + guard, is_canary);
    const bool behind = std::all_of(bytes_.end() - guard, bytes_.end(), is_canary);
    return std::string(before ? "" : "written before ") + (behind ? "" : "written behind ") +
           (before && behind ? "within" : "");
}

std::string class_name(int code) {
    int error_class = MPI_ERR_UNKNOWN;
    if (MPI_Error_class(code, &error_class) != MPI_SUCCESS) { return "no error code"; }
    const auto found = std::find_if(class_names.begin(), class_names.end(),
                                    [&](const auto& entry) { return entry.first == error_class; });
    return found == class_names.end() ? "class " + std::to_string(error_class) : found->second;
}

MPI_Status fresh_status() {
    MPI_Status status;
    std::memset(&status, 0, sizeof status);
    status.MPI_SOURCE = status.MPI_TAG = status.MPI_ERROR = untouched;
    return status;
}

Recorder* Recorder::the_one = nullptr;

Recorder::Recorder(const std::string& path)
    : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (file_ < 0) {
        std::perror(path.c_str());
        std::exit(EXIT_FAILURE);
    }
    the_one = this;
    MPI_Comm_create_errhandler(note_error, &handler_);
}

Recorder::~Recorder() { close(file_); }

void Recorder::line(const std::string& text) {
    const std::string whole = text + "\n";
    if (write(file_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) {
        std::perror("transcript");
        std::exit(EXIT_FAILURE);
    }
}

void Recorder::begin(int number, const std::string& name) {
    line("case " + std::to_string(number) + " " + name);
}

void Recorder::end() {
    const std::string handlers = handlers_called(true);
    if (!handlers.empty()) { line("  beside the calls:" + handlers); }
    line("end");
}

std::string Recorder::handlers_called(bool with_class) {
    std::string text;
    for (const Called& called : called_) {
        text += " handler of " + called.object + (with_class ? " " + called.class_name : "") +
                " x" + std::to_string(called.times);
    }
    called_.clear();
    return text;
}

int Recorder::call(const std::string& what, int code) {
    line("  " + what + ": " + class_name(code) + handlers_called(true));
    return code;
}

int Recorder::roughly(const std::string& what, int code) {
    line("  " + what + (code == MPI_SUCCESS ? ": succeeds" : ": fails") + handlers_called(false));
    return code;
}

void Recorder::status(const std::string& what, const MPI_Status& status, MPI_Datatype type) {
    int count = untouched;
    int elements = untouched;
    int cancelled = untouched;
    MPI_Test_cancelled(&status, &cancelled);
    if (cancelled == 1) { return line("  " + what + ": cancelled"); }
    MPI_Get_count(&status, type, &count);
    MPI_Get_elements(&status, type, &elements);
    const auto name = [](int value, int any, int null) {
        return value == any ? std::string("any") : value == null ? "null" : std::to_string(value);
    };
    const auto number = [](int value) {
        return value == MPI_UNDEFINED ? std::string("undefined") : std::to_string(value);
    };
    line("  " + what + ": source " + name(status.MPI_SOURCE, MPI_ANY_SOURCE, MPI_PROC_NULL) +
         " tag " + name(status.MPI_TAG, MPI_ANY_TAG, MPI_ANY_TAG) + " count " + number(count) +
         " elements " + number(elements) + " cancelled " + number(cancelled));
}

void Recorder::statuses_of_error(const std::vector<MPI_Status>& statuses, MPI_Datatype type) {
    for (size_t i = 0; i < statuses.size(); ++i) {
        const std::string name = "status " + std::to_string(i);
        const int code = statuses[i].MPI_ERROR;
        line("  " + name + ": error " + (code == untouched ? "untouched" : class_name(code)));
        if (code == MPI_SUCCESS) { status(name, statuses[i], type); }
    }
}

void Recorder::value(const std::string& what, long long value) {
    line("  " + what + ": " + (value == MPI_UNDEFINED ? "undefined" : std::to_string(value)));
}

void Recorder::data(const std::string& what, const Memory& memory) {
    line("  " + what + ": " + memory.text());
}

void Recorder::guards(const std::string& what, const Memory& memory) {
    line("  " + what + ": " + memory.guards());
}

void Recorder::watch(MPI_Comm comm, const std::string& name) {
    forget(comm);
    names_.emplace_back(comm, name);
    MPI_Comm_set_errhandler(comm, handler_);
}

void Recorder::only_return(MPI_Comm comm) { MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN); }

void Recorder::forget(MPI_Comm comm) {
    std::erase_if(names_, [&](const auto& entry) { return entry.first == comm; });
}

void Recorder::note_error(MPI_Comm* comm, int* code, ...) {
    const auto& names = the_one->names_;
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto& entry) { return entry.first == *comm; });
    const std::string name = found == names.end() ? "another communicator" : found->second;
    const std::string what = class_name(*code);
    auto& list = the_one->called_;
    const auto known = std::find_if(list.begin(), list.end(), [&](const Called& called) {
        return called.object == name && called.class_name == what;
    });
    (known == list.end() ? list.emplace_back(Called{name, what}) : *known).times++;
}

} // namespace nodeaware::conformance
