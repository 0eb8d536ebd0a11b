#include "runtime/core/ending.hpp"

#include "runtime/core/signals.hpp"
#include "runtime/job/log.hpp"
#include "runtime/requests/library.hpp"
#include "tuning/text_file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>

namespace nodeaware::ending {

namespace {

/// Made when the program begins, for at its end much may be gone. Never destroyed.
struct State {
    explicit State(report::Facts known) : facts(std::move(known)) {}

    report::Facts facts;
    std::string path; ///< of the report; empty: stderr
    pid_t process = getpid();
    bool has_complained = false;
    std::atomic<bool> is_told{false}; ///< on stderr, what one rank has to say
    std::atomic<bool> is_over{false};
};
State* state = nullptr;

const Options& options() { return library->world.options; }

void complain(int error) {
    if (error == 0 || state->has_complained) { return; }
    state->has_complained = true;
    log(LogLevel::warn, "NODEAWARE_REPORT: {}: {}", state->path, std::strerror(error));
}

void write(const report::Facts& facts) {
    if (state->path.empty()) {
        tuning::write_whole_to(STDERR_FILENO, report::text_of(facts)); // or nobody is to be told
        return;
    }
    const bool is_json = state->path.ends_with(".json");
    complain(tuning::write_whole(state->path,
                                 is_json ? report::json_of(facts) : report::text_of(facts)));
}

std::optional<report::Times> own_times(bool only_led) {
    std::optional<report::Times> times;
    if (trace::recorder == nullptr) { return times; }
    trace::Recorder& recorder = *trace::recorder;
    recorder.look([&](const trace::Contents& contents) {
        times = report::times_of(contents, recorder.wall_seconds(), only_led);
    });
    return times;
}

void write_trace(bool may_complain) {
    if (trace::recorder == nullptr || !trace::recorder->has_file()) { return; }
    if (!trace::recorder->write_at_end() || !may_complain) { return; }
    const std::string& complaint = trace::recorder->complaint();
    if (!complaint.empty()) { write_log(LogLevel::warn, complaint); }
}

/// Of this rank alone.
void write_own(std::string how, bool is_wanted) {
    if (!options().report || !is_wanted) { return; }
    if (state->path.empty() && state->is_told.exchange(true)) { return; }
    report::Facts facts = state->facts;
    facts.end = std::move(how);
    const auto times = options().report_times ? own_times(false) : std::nullopt;
    report::add_own(facts, library->world.rank, library->report.counted(),
                    times ? &*times : nullptr);
    write(facts);
}

void write_all(const std::string& how, bool is_speaker) {
    try {
        write_trace(is_speaker);
        write_own(how, is_speaker);
    } catch (const std::exception&) { return; } // no memory, and nobody to be told
}

/// Beside the numbers of signals.
constexpr int by_exit = -1;
constexpr int by_abort = -2;

void write_what_ended(int what) {
    const bool is_first = library->world.rank == 0;
    if (what == by_abort) { return write_all("MPI_Abort", true); }
    if (what == by_exit) { return write_all("exit without MPI_Finalize", is_first); }
    if (state->is_over) { return; }
    const char* const name = sigabbrev_np(what);
    write_all(name == nullptr ? "a signal" : "SIG" + std::string(name), is_first);
}

} // namespace

void open() {
    if (!options().report && options().trace.empty()) { return; }
    const int rank = library->world.rank;
    try {
        auto made = std::make_unique<State>(report::facts_of(library->world));
        if (!options().report_path.empty()) {
            made->path = expand_path(options().report_path, rank);
        }
        state = made.release();
        if (rank == 0 && !state->path.empty()) { complain(tuning::error_of_file(state->path)); }
        signals::open(write_what_ended, options().signals);
    } catch (const std::exception&) { return; } // the other ranks go on
    if (state->has_complained && options().strict) {
        throw BadSettings("a file cannot be written");
    }
}

void ended(bool aborts) {
    if (state == nullptr || getpid() != state->process || state->is_over.exchange(true)) { return; }
    const int what = aborts ? by_abort : by_exit;
    if (!signals::have_done(what)) { write_what_ended(what); }
}

std::optional<report::Times> finalizing() {
    if (state == nullptr) { return {}; }
    state->is_over = true;
    try {
        signals::close();
        if (options().report && options().report_times) { return own_times(true); }
    } catch (const std::exception&) { return {}; } // the other ranks have times
    return {};
}

void close(const std::optional<report::Times>& times, std::vector<Report::Note> notes) {
    if (!options().report) { return; }
    report::Facts none;
    report::Facts& facts = state == nullptr ? none : state->facts;
    report::add_all(facts, library->world, library->report.counted(), std::move(notes),
                    times ? &*times : nullptr);
    if (library->world.rank == 0 && state != nullptr) { write(facts); }
}

} // namespace nodeaware::ending
