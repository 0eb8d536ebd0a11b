#include "runtime/job/report.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

namespace nodeaware {

namespace {

/// What memory of devices was moved for.
constexpr std::array<std::string_view, 3> device_uses = {"rerouted calls", "calls left to MPI",
                                                         "point-to-point"};

/// `sums`: of DeviceCounts::values().
std::string text_of_device(std::string_view use, const unsigned long long* sums) {
    enum { to_host, to_device, within, copies, unpinned, straight, kernels };
    std::string text;
    if (sums[copies] + sums[kernels] > 0) {
        text += fmt::format("  device memory, {}: {} bytes to the host, {} to devices, {} within "
                            "devices; {} copies, {} of them with memory that is not pinned; "
                            "{} kernels for lists of copies\n",
                            use, sums[to_host], sums[to_device], sums[within], sums[copies],
                            sums[unpinned], sums[kernels]);
    }
    if (sums[straight] > 0) {
        text += fmt::format("  device memory, {}: {} bytes sent and received there by MPI\n", use,
                            sums[straight]);
    }
    return text;
}

} // namespace

void Report::add(const CallRecord& record) {
    const bool is_native = record.reason != Reason::none;
    const std::array<uint64_t, columns> values = {
        is_native ? 1U : 0U,  is_native ? 0U : 1U,  record.built ? 1U : 0U,
        record.bytes,         record.node_messages, record.node_bytes,
        record.sent_messages, record.sent_bytes,    static_cast<uint64_t>(record.seconds * 1e9)};
    Row& row = rows_[static_cast<size_t>(record.operation)];
    for (size_t i = 0; i < values.size(); ++i) {
        row[i].fetch_add(values[i], std::memory_order_relaxed);
    }
    (is_native ? device_native_ : device_rerouted_).add(record.device);
    reasons_[static_cast<size_t>(record.reason)].fetch_add(1, std::memory_order_relaxed);
    if (record.strategy != nullptr) {
        const auto place = record.strategy - strategies().data();
        by_strategy_[static_cast<size_t>(place)].fetch_add(1, std::memory_order_relaxed);
    }
    if (record.is_measured) { measured_calls_.fetch_add(1, std::memory_order_relaxed); }
    learning_nanoseconds_.fetch_add(static_cast<uint64_t>(record.learning_seconds * 1e9),
                                    std::memory_order_relaxed);
    if (told_ != nullptr) { told_(record); }
}

void Report::close(const World& world, const std::vector<Note>& notes) {
    if (!world.options.report) { return; }
    std::vector<unsigned long long> mine;
    for (const Row& row : rows_) { mine.insert(mine.end(), row.begin(), row.end()); }
    mine.insert(mine.end(), reasons_.begin(), reasons_.end());
    const size_t by_strategy = mine.size();
    mine.insert(mine.end(), by_strategy_.begin(), by_strategy_.end());
    const size_t learning = mine.size();
    mine.push_back(measured_calls_);
    mine.push_back(learning_nanoseconds_);
    const size_t devices = mine.size();
    for (const DeviceSums* sums :
         {&device_rerouted_, &device_native_, &DeviceCounting::of_messages}) {
        const DeviceSums::Values values = sums->values();
        mine.insert(mine.end(), values.begin(), values.end());
    }
    const size_t first_note = mine.size();
    for (const Note& note : notes) { mine.push_back(note.value); }
    std::vector<unsigned long long> sums(mine.size());
    MPI_CALL(Reduce, mine.data(), sums.data(), static_cast<int>(mine.size()),
             MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world.rank != 0) { return; }
    const std::set<int> nodes(world.node_of.begin(), world.node_of.end());
    std::string text = fmt::format("nodeaware: calls of {} ranks on {} nodes, summed over ranks\n",
                                   world.size, nodes.size());
    text += fmt::format("{:<20} {:>10} {:>10} {:>8} {:>14} {:>22} {:>22} {:>10}\n", "operation",
                        "native", "rerouted", "built", "bytes", "messages before/after",
                        "bytes before/after", "seconds");
    for (size_t i = 0; i < operation_count; ++i) {
        const unsigned long long* row = sums.data() + i * columns;
        if (row[native] + row[rerouted] == 0) { continue; }
        text += fmt::format("{:<20} {:>10} {:>10} {:>8} {:>14} {:>22} {:>22} {:>10.3f}\n",
                            operation_names[i], row[native], row[rerouted], row[built], row[bytes],
                            fmt::format("{}/{}", row[node_messages], row[sent_messages]),
                            fmt::format("{}/{}", row[node_bytes], row[sent_bytes]),
                            static_cast<double>(row[nanoseconds]) * 1e-9);
    }
    for (size_t i = 0; i < strategies().size(); ++i) {
        const auto calls = sums[by_strategy + i];
        if (calls > 0) {
            text += fmt::format("  rerouted by {} ({} calls)\n", strategies()[i].name, calls);
        }
    }
    for (size_t i = 1; i < reason_count; ++i) {
        const auto calls = sums[operation_count * columns + i];
        if (calls > 0) {
            text += fmt::format("  left to MPI: {} ({} calls)\n", reason_texts[i], calls);
        }
    }
    if (sums[learning] > 0) {
        text +=
            fmt::format("  learning: {} calls measured to compare strategies, which took {:.6f} s "
                        "more than the best\n",
                        sums[learning], static_cast<double>(sums[learning + 1]) * 1e-9);
    }
    for (size_t i = 0; i < device_uses.size(); ++i) {
        text += text_of_device(device_uses[i], sums.data() + devices + i * DeviceCounts::columns);
    }
    for (size_t i = 0; i < notes.size(); ++i) {
        if (sums[first_note + i] == 0) { continue; }
        text += fmt::format("  {}: {}\n", notes[i].text, sums[first_note + i]);
    }
    std::fputs(text.c_str(), stderr);
}

} // namespace nodeaware
