#include "measurement.hpp"

#include "program.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <type_traits>
#include <utility>

namespace bench {
namespace {

constexpr double microseconds = 1e6;

struct Contender {
    Call call;
    FormResult result;
    std::vector<double> times; // of this rank, in the running repeat
    WrongData wrong;           // of this rank
    std::int64_t late = 0;     // of this rank
};

// Everything that is not measured uses MPI_X too, not PMPI_X: a preloaded library may have work
// left from a rerouted call and has to get the chance to finish it before a native call, which
// it does not see, waits for another rank.
class Measurement {
  public:
    Measurement(const Pattern& pattern, const Operation& operation, const Settings& settings,
                MPI_Comm control, int rank, int ranks)
        : operation_(operation), settings_(settings), control_(control), rank_(rank), ranks_(ranks),
          messages_(apply_rule(pattern.messages, operation.placement.rule)),
          buffers_(messages_, rank, operation.placement, *settings.memory),
          start_(settings.start, settings.pause, ranks),
          // Set-up and warm-up start together even where the measured calls do not.
          common_start_(settings.start == StartLine::Mode::none ? StartLine::Mode::barrier
                                                                : settings.start,
                        settings.pause, ranks) {
        result_.spec = pattern.spec;
        result_.label = pattern.label;
        result_.operation = operation.name;
        result_.ranks = ranks;
        describe_traffic();
    }

    CaseResult run() {
        // Native first: what MPI itself sets up at first use is then not charged to the other.
        if (settings_.only != Only::mpi) add(native_form);
        if (settings_.only != Only::native) add(mpi_form);
        // These start from the control communicator: to be the first use of their own.
        for (Contender& contender : contenders_)
            contender.result.first = slowest(one_call(contender, common_start_, control_));
        // A library may leave the first nonblocking call on a communicator to MPI and set itself up
        // when all ranks meet there, as they do in applications.
        for (Contender& contender : contenders_)
            check(MPI_Barrier(contender.call.comm), "MPI_Barrier");
        for (int i = 0; i < settings_.warmup; ++i) {
            for (Contender& contender : contenders_)
                one_call(contender, common_start_, start_comm());
        }
        for (Contender& contender : contenders_) contender.late = 0;
        if (settings_.calls > 0) {
            count_calls();
        } else {
            for (int repeat = 0; repeat < settings_.repeats; ++repeat) one_repeat();
        }
        check(MPI_Barrier(start_comm()), "MPI_Barrier");
        for (Contender& contender : contenders_) finish(contender);
        compare();
        return std::move(result_);
    }

  private:
    void describe_traffic() {
        std::vector<double> messages(static_cast<std::size_t>(ranks_), 0);
        std::vector<double> bytes = messages;
        for (const Message& message : messages_) {
            if (message.source == message.destination) continue;
            messages[static_cast<std::size_t>(message.source)] += 1;
            bytes[static_cast<std::size_t>(message.source)] += static_cast<double>(message.bytes);
        }
        result_.messages = summarize(messages);
        result_.bytes = summarize(bytes);
    }

    void add(const Form& form) {
        Contender contender;
        contender.result.form = form.name;
        const double begin = common_start_.wait(control_).time;
        MPI_Comm comm = create_communicator(operation_, form, buffers_, control_);
        contender.result.create = slowest(now() - begin);
        contender.call = prepare_call(operation_, form, comm, buffers_);
        contenders_.push_back(std::move(contender));
    }

    // Barriers before timed calls are on the communicator of the rerouted calls where there is
    // one: applications have such collectives there, and a library may need them to agree.
    MPI_Comm start_comm() const {
        return settings_.only == Only::native ? control_ : contenders_.back().call.comm;
    }

    // Seconds on this rank.
    double one_call(Contender& contender, const StartLine& line, MPI_Comm comm) {
        ++calls_;
        buffers_.fill(calls_);
        const StartLine::Start start = line.wait(comm);
        call(contender);
        const double elapsed = now() - start.time;
        line.rest();
        if (operation_.deliver != nullptr) operation_.deliver(contender.call);
        contender.late += start.late ? 1 : 0;
        buffers_.verify(calls_, contender.wrong);
        return elapsed;
    }

    void call(Contender& contender) {
        const bool by_copies = settings_.native_by_copies && contender.call.form == &native_form;
        if (!by_copies) return operation_.call(contender.call);
        buffers_.stay_on_host(true);
        buffers_.copy_sends_off_device();
        operation_.call(contender.call);
        buffers_.copy_receives_to_device();
        buffers_.stay_on_host(false);
    }

    double slowest(double seconds) const {
        double maximum = 0;
        check(MPI_Allreduce(&seconds, &maximum, 1, MPI_DOUBLE, MPI_MAX, control_), "MPI_Allreduce");
        return maximum * microseconds;
    }

    void count_calls() {
        const std::chrono::duration<double, std::milli> rest(settings_.rest_ms);
        for (int i = 0; i < settings_.calls; ++i) {
            one_call(contenders_[0], start_, start_comm());
            std::this_thread::sleep_for(rest);
        }
    }

    void one_repeat() {
        const std::size_t forms = contenders_.size();
        const auto iterations = static_cast<std::size_t>(settings_.iterations);
        const double begin = now();
        for (std::size_t i = 0; i < forms * iterations; ++i) {
            Contender& contender =
                contenders_[settings_.alternate_repeats ? i / iterations : i % forms];
            contender.times.push_back(one_call(contender, start_, start_comm()));
        }
        // Calls that nothing separates overlap: what counts is what all of them take together.
        if (settings_.start == StartLine::Mode::none)
            contenders_[0].times = {(now() - begin) / settings_.iterations};
        for (Contender& contender : contenders_) summarize_repeat(contender);
    }

    void summarize_repeat(Contender& contender) {
        std::vector<double> slowest_times(contender.times.size());
        check(MPI_Allreduce(contender.times.data(), slowest_times.data(),
                            static_cast<int>(slowest_times.size()), MPI_DOUBLE, MPI_MAX, control_),
              "MPI_Allreduce");
        for (double& time : slowest_times) time *= microseconds;
        contender.result.repeats.push_back(summarize(slowest_times));
        contender.times.clear();
    }

    void finish(Contender& contender) {
        std::vector<double> medians;
        for (const Summary& repeat : contender.result.repeats) medians.push_back(repeat.median);
        contender.result.medians = summarize(medians);
        check(MPI_Allreduce(&contender.late, &contender.result.late, 1, MPI_INT64_T, MPI_SUM,
                            control_),
              "MPI_Allreduce");
        contender.result.wrong = first_wrong(contender.wrong);
        release_call(contender.call);
        result_.forms.push_back(contender.result);
    }

    // The first of all ranks' wrong data (by call, then by rank), and the sum of their bytes.
    WrongData first_wrong(const WrongData& mine) const {
        std::int64_t bytes = 0;
        check(MPI_Allreduce(&mine.bytes, &bytes, 1, MPI_INT64_T, MPI_SUM, control_),
              "MPI_Allreduce");
        if (bytes == 0) return {};
        std::int64_t key = std::numeric_limits<std::int64_t>::max();
        if (mine.bytes > 0) key = mine.call * ranks_ + rank_;
        std::int64_t first = 0;
        check(MPI_Allreduce(&key, &first, 1, MPI_INT64_T, MPI_MIN, control_), "MPI_Allreduce");
        WrongData wrong = mine;
        static_assert(std::is_trivially_copyable_v<WrongData>);
        check(MPI_Bcast(&wrong, sizeof wrong, MPI_BYTE, static_cast<int>(first % ranks_), control_),
              "MPI_Bcast");
        wrong.bytes = bytes;
        return wrong;
    }

    void compare() {
        const FormResult* native = result_.find(native_form);
        const FormResult* mpi = result_.find(mpi_form);
        if (native == nullptr || mpi == nullptr) return;
        for (std::size_t i = 0; i < native->repeats.size(); ++i)
            result_.ratios.push_back(native->repeats[i].median / mpi->repeats[i].median);
        result_.ratio = summarize(result_.ratios);
    }

    const Operation& operation_;
    const Settings& settings_;
    MPI_Comm control_;
    int rank_;
    int ranks_;
    std::vector<Message> messages_;
    Buffers buffers_;
    StartLine start_;
    StartLine common_start_;
    std::int64_t calls_ = 0; // of both forms: numbers the contents of the buffers
    std::vector<Contender> contenders_;
    CaseResult result_;
};

} // namespace

const FormResult* CaseResult::find(const Form& form) const {
    const auto found = std::find_if(forms.begin(), forms.end(), [&](const FormResult& result) {
        return result.form == form.name;
    });
    return found == forms.end() ? nullptr : &*found;
}

std::int64_t CaseResult::wrong_bytes() const {
    std::int64_t bytes = 0;
    for (const FormResult& result : forms) bytes += result.wrong.bytes;
    return bytes;
}

void check_sizes(const Pattern& pattern, const Operation& operation, int ranks) {
    const LargestBuffer largest =
        largest_buffer(apply_rule(pattern.messages, operation.placement.rule), ranks);
    if (largest.bytes > std::numeric_limits<int>::max()) {
        throw InputError("pattern '" + pattern.spec + "' with " + operation.name + ": rank " +
                         std::to_string(largest.rank) + " would need a buffer of " +
                         std::to_string(largest.bytes) +
                         " bytes, more than int displacements reach");
    }
}

CaseResult measure(const Pattern& pattern, const Operation& operation, const Settings& settings,
                   MPI_Comm control) {
    int rank = 0;
    int ranks = 0;
    check(MPI_Comm_rank(control, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(control, &ranks), "MPI_Comm_size");
    return Measurement(pattern, operation, settings, control, rank, ranks).run();
}

} // namespace bench
