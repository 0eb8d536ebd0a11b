// What it takes to ask where memory is, as is done for every buffer of a call.
#include "session.hpp"
#include "tools/bench/text_table.hpp"

#include <cstdio>

namespace bench::copies {
namespace {

struct Row {
    std::string memory;
    std::vector<double> ns{};
    std::string state = ok;
};

TextTable<Row> question_table() {
    return TextTable<Row>({
        {"memory", -18, [](const Row& r) { return r.memory; }},
        {"ns", 28, [](const Row& r) { return spread_or_none(r.ns, 0); }},
        {"result", -6, [](const Row& r) { return r.state; }},
    });
}

nlohmann::ordered_json json_of(const Row& row) {
    return {{"memory", row.memory}, {"ns", to_json(row.ns)}, {"state", row.state}};
}

Row ask(const Settings& settings, const std::string& name, const void* memory, bool is_on_device) {
    constexpr int questions = 200;
    constexpr int samples_a_repeat = 5;
    Row row{name};
    const int samples = samples_a_repeat * settings.repeats;
    for (int sample = -settings.warmup; sample < samples; ++sample) {
        int on_device = 0;
        const double seconds = seconds_of([&] {
            for (int i = 0; i < questions; ++i)
                on_device += device::locate(memory).is_on_device ? 1 : 0;
        });
        if (on_device != (is_on_device ? questions : 0)) row.state = wrong;
        if (sample >= 0) row.ns.push_back(1e9 * seconds / questions);
    }
    return row;
}

} // namespace

bool measure_questions(const Session& session, nlohmann::ordered_json& json) {
    constexpr std::uint64_t bytes = 1 << 20;
    const std::vector<std::byte> plain(bytes);
    const DeviceBuffer on_device(session.gpu, bytes);
    const DeviceBuffer managed(session.gpu, bytes, true);
    const PinnedBuffer pinned(session.gpu, bytes);
    Arena arena(bytes);
    {
        const device::Place place = device::locate(on_device.data());
        device::Copies copies(place);
        arena.pin(copies, place);
    }
    std::printf("\nWhere memory is: one question\n");
    const TextTable<Row> table = question_table();
    table.print_header();
    bool is_well = true;
    const auto take = [&](const Row& row) {
        is_well = is_well && row.state == ok;
        table.print(row);
        json.push_back(json_of(row));
    };
    take(ask(session.settings, "host", plain.data(), false));
    take(ask(session.settings, "device", on_device.data(), true));
    take(ask(session.settings, "managed", managed.data(), true));
    take(ask(session.settings, "pinned", pinned.data(), false));
    take(ask(session.settings, "arena", arena.data(), false));
    return is_well;
}

} // namespace bench::copies
