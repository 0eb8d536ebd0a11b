// A message with gaps, as the library copies it to the host: one submission, for which its list is
// kept; the same as single copies, and as copies that each are waited for.
#include "runtime/device/kept_lists.hpp"
#include "runtime/device/submission.hpp"
#include "runtime/job/device_counts.hpp"
#include "session.hpp"
#include "tools/bench/text_table.hpp"

#include <cstdio>

namespace bench::copies {
namespace {

constexpr std::uint64_t count = 1000;
constexpr std::uint64_t piece_bytes = 200;
constexpr std::uint64_t all_bytes = count * piece_bytes;

struct Row {
    std::string way;
    std::vector<double> us{};
    std::vector<double> to_submission{}; // how many times as long
    std::string state = ok;
};

TextTable<Row> piece_table() {
    return TextTable<Row>({
        {"pieces", -24, [](const Row& r) { return r.way; }},
        {"us", 28, [](const Row& r) { return spread_or_none(r.us, 2); }},
        {"times the submission", 24,
         [](const Row& r) { return spread_or_none(r.to_submission, 2); }},
        {"result", -6, [](const Row& r) { return r.state; }},
    });
}

nlohmann::ordered_json json_of(const Row& row) {
    return {{"pieces", row.way},
            {"count", count},
            {"bytes", piece_bytes},
            {"us", to_json(row.us)},
            {"times_the_submission", to_json(row.to_submission)},
            {"state", row.state}};
}

class Message {
  public:
    explicit Message(const Session& session)
        : session_(session), source_(session.gpu, apart * all_bytes), arena_(all_bytes),
          place_(device::locate(source_.data())), copies_(place_) {
        session.gpu.copy_to_device(source_.address(), session.pattern.data(), apart * all_bytes);
        session.gpu.synchronize();
        copies_.use_own_stream(Direction::to_host);
        arena_.pin(copies_, place_);
    }

    void submit() {
        device::Submission submission;
        for (std::uint64_t i = 0; i < count; ++i) {
            submission.add(copies_, {Direction::to_host, reinterpret_cast<std::uintptr_t>(to(i)),
                                     from(i), piece_bytes, place_.is_for_kernels});
        }
        submission.begin(copies_);
        copies_.finish();
        submission.end();
    }
    void copy_one_by_one() {
        for (std::uint64_t i = 0; i < count; ++i) copies_.to_host(to(i), from(i), piece_bytes);
        copies_.finish();
    }
    void copy_and_wait() {
        for (std::uint64_t i = 0; i < count; ++i)
            session_.gpu.copy_to_host(to(i), from(i), piece_bytes);
    }

    template <class Copy> bool is_right_after(Copy copy) {
        spoil(arena_.data(), all_bytes);
        copy();
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::byte* const source = session_.pattern.data() + i * apart * piece_bytes;
            if (!are_alike(to(i), source, piece_bytes)) return false;
        }
        return true;
    }

  private:
    std::byte* to(std::uint64_t i) const { return arena_.data() + i * piece_bytes; }
    std::uint64_t from(std::uint64_t i) const {
        return source_.address() + i * apart * piece_bytes;
    }

    const Session& session_;
    DeviceBuffer source_;
    Arena arena_;
    device::Place place_;
    device::Copies copies_;
};

// A submission of that is one kernel, or more, and no copy.
bool is_by_kernel(Message& message) {
    nodeaware::DeviceCounts counts;
    {
        const nodeaware::DeviceCounting counting(counts);
        message.submit();
    }
    return counts.kernels > 0 && counts.copies == 0;
}

} // namespace

bool measure_pieces(const Session& session, nlohmann::ordered_json& json) {
    Message message(session);
    const auto submit = [&] { message.submit(); };
    const auto copy_one_by_one = [&] { message.copy_one_by_one(); };
    const auto copy_and_wait = [&] { message.copy_and_wait(); };
    std::vector<Row> rows = {{"by a submission"}, {"by copies, then waiting"}, {"each waited for"}};
    if (!message.is_right_after(submit)) rows[0].state = wrong;
    if (!message.is_right_after(copy_one_by_one)) rows[1].state = wrong;
    if (!message.is_right_after(copy_and_wait)) rows[2].state = wrong;
    if (rows[0].state == ok && !is_by_kernel(message)) rows[0].state = "no kernel";
    const Settings& settings = session.settings;
    for (int repeat = -settings.warmup; repeat < settings.repeats; ++repeat) {
        const std::vector<double> times = {1e6 * seconds_of(submit),
                                           1e6 * seconds_of(copy_one_by_one),
                                           1e6 * seconds_of(copy_and_wait)};
        if (repeat < 0) continue;
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i].us.push_back(times[i]);
    }
    for (std::size_t i = 1; i < rows.size(); ++i)
        rows[i].to_submission = ratios_of(rows[i].us, rows[0].us);
    std::printf("\n%d segments of %d bytes from the device to the arena\n", static_cast<int>(count),
                static_cast<int>(piece_bytes));
    const TextTable<Row> table = piece_table();
    table.print_header();
    bool is_well = true;
    for (const Row& row : rows) {
        is_well = is_well && row.state == ok;
        table.print(row);
        json.push_back(json_of(row));
    }
    device::forget_kept_lists();
    return is_well;
}

} // namespace bench::copies
