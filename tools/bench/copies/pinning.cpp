// What it takes to pin shared memory whose pages are there, and to let go of it.
#include "session.hpp"
#include "tools/bench/text_table.hpp"

#include <cstdio>

namespace bench::copies {
namespace {

struct Row {
    std::uint64_t bytes;
    std::vector<double> pin{};   // us
    std::vector<double> unpin{}; // us
    std::string state = ok;

    double mib() const { return static_cast<double>(bytes) / (1 << 20); }
};

TextTable<Row> pinning_table() {
    return TextTable<Row>({
        {"pinned", -8, [](const Row& r) { return bytes_text(r.bytes); }},
        {"us to pin", 28, [](const Row& r) { return spread_or_none(r.pin, 1); }},
        {"us to unpin", 28, [](const Row& r) { return spread_or_none(r.unpin, 1); }},
        {"us/MiB to pin", 13,
         [](const Row& r) { return number(summarize(r.pin).median / r.mib(), 1); }},
        {"us/MiB to unpin", 15,
         [](const Row& r) { return number(summarize(r.unpin).median / r.mib(), 1); }},
        {"result", -6, [](const Row& r) { return r.state; }},
    });
}

nlohmann::ordered_json json_of(const Row& row) {
    return {{"bytes", row.bytes},
            {"pin_us", to_json(row.pin)},
            {"unpin_us", to_json(row.unpin)},
            {"state", row.state}};
}

Row measure_size(const Session& session, const device::Place& place, std::uint64_t bytes) {
    Row row{bytes};
    for (int repeat = -session.settings.warmup; repeat < session.settings.repeats; ++repeat) {
        Arena arena(bytes);
        bool is_pinned = false;
        device::Copies copies(place);
        const double pin = seconds_of([&] { is_pinned = arena.pin(copies, place); });
        const double unpin = seconds_of([&] { is_pinned = arena.unpin() && is_pinned; });
        if (!is_pinned) row.state = "not pinned";
        if (repeat < 0) continue;
        row.pin.push_back(1e6 * pin);
        row.unpin.push_back(1e6 * unpin);
    }
    return row;
}

} // namespace

bool measure_pinning(const Session& session, nlohmann::ordered_json& json) {
    const DeviceBuffer on_device(session.gpu, 1 << 20);
    const device::Place place = device::locate(on_device.data());
    std::printf("\nShared memory, pages of which are there, pinned by parts of %s\n",
                bytes_text(device::PinnedMemory::part_bytes).c_str());
    const TextTable<Row> table = pinning_table();
    table.print_header();
    bool is_well = true;
    for (std::uint64_t bytes = 1 << 20; bytes <= session.settings.most_pinned; bytes *= 4) {
        const Row row = measure_size(session, place, bytes);
        is_well = is_well && row.state == ok;
        table.print(row);
        json.push_back(json_of(row));
    }
    return is_well;
}

} // namespace bench::copies
