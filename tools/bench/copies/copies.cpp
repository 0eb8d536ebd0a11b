// Copies by the copy engines: of the driver's pinned memory and of the library's arena in turn, one
// way and both ways at once.
#include "session.hpp"
#include "tools/bench/text_table.hpp"

#include <array>
#include <cstdio>

namespace bench::copies {
namespace {

enum class Way { to_host, to_device, both };
constexpr std::array ways = {Way::to_host, Way::to_device, Way::both};

std::string name_of(Way way) {
    switch (way) {
    case Way::to_host: return "to host";
    case Way::to_device: return "to device";
    default: return "both at once";
    }
}

// Of the host.
struct Ends {
    std::byte* written; // by copies to the host
    std::byte* read;    // by copies to the device
    const Arena* arena; // nullptr: one copy may move all
};

struct Row {
    Way way;
    std::uint64_t bytes; // each way
    // GB/s, both ways together; of the arena and of the driver's memory in turn.
    std::vector<double> pinned;
    std::vector<double> arena;
    // Of both at once: over the sum of what both ways reach alone in the driver's memory.
    std::vector<double> pinned_of_alone;
    std::vector<double> arena_of_alone;
    std::string state = ok;
};

TextTable<Row> copy_table() {
    return TextTable<Row>({
        {"copies", -12, [](const Row& r) { return name_of(r.way); }},
        {"size", 8, [](const Row& r) { return bytes_text(r.bytes); }},
        {"pinned GB/s", 24, [](const Row& r) { return spread_or_none(r.pinned, 3); }},
        {"arena GB/s", 24, [](const Row& r) { return spread_or_none(r.arena, 3); }},
        {"arena:pinned", 20,
         [](const Row& r) { return spread_or_none(ratios_of(r.arena, r.pinned), 3); }},
        {"pinned:alone", 20, [](const Row& r) { return spread_or_none(r.pinned_of_alone, 3); }},
        {"arena:alone", 20, [](const Row& r) { return spread_or_none(r.arena_of_alone, 3); }},
        {"result", -6, [](const Row& r) { return r.state; }},
    });
}

nlohmann::ordered_json json_of(const Row& row) {
    return {{"copies", name_of(row.way)},
            {"bytes", row.bytes},
            {"pinned_gb_per_s", to_json(row.pinned)},
            {"arena_gb_per_s", to_json(row.arena)},
            {"arena_to_pinned", to_json(ratios_of(row.arena, row.pinned))},
            {"pinned_to_alone", to_json(row.pinned_of_alone)},
            {"arena_to_alone", to_json(row.arena_of_alone)},
            {"state", row.state}};
}

// All of a device's memory that is copied from and to, and the streams of both directions.
class Engines {
  public:
    Engines(const Session& session, std::uint64_t bytes)
        : session_(session), source_(session.gpu, bytes), target_(session.gpu, bytes),
          place_(device::locate(source_.data())), to_host_(place_), to_device_(place_) {
        session.gpu.copy_to_device(source_.address(), session.pattern.data(), bytes);
        session.gpu.synchronize();
        to_host_.use_own_stream(Direction::to_host);
        to_device_.use_own_stream(Direction::to_device);
    }

    bool pin(Arena& arena) { return arena.pin(to_host_, place_); }

    void copy(Way way, const Ends& ends, std::uint64_t bytes) {
        if (way != Way::to_host) begin_to_device(ends, bytes);
        if (way != Way::to_device) begin_to_host(ends, bytes);
        if (way != Way::to_host) to_device_.finish();
        if (way != Way::to_device) to_host_.finish();
    }

    // The bytes are where they should be after one.
    bool is_right(Way way, const Ends& ends, std::uint64_t bytes) {
        spoil(ends.written, bytes);
        spoil(session_, target_.address(), bytes);
        copy(way, ends, bytes);
        const bool is_host_right =
            way == Way::to_device || are_alike(ends.written, session_.pattern.data(), bytes);
        return is_host_right &&
               (way == Way::to_host ||
                are_alike(read_back(session_, target_.address(), bytes).data(), ends.read, bytes));
    }

  private:
    void begin_to_host(const Ends& ends, std::uint64_t bytes) {
        for_each_copy(ends, ends.written, bytes, [&](std::uint64_t at, std::uint64_t part) {
            to_host_.to_host(ends.written + at, source_.address() + at, part);
        });
    }
    void begin_to_device(const Ends& ends, std::uint64_t bytes) {
        for_each_copy(ends, ends.read, bytes, [&](std::uint64_t at, std::uint64_t part) {
            to_device_.to_device(target_.address() + at, ends.read + at, part);
        });
    }
    template <class Copy>
    static void for_each_copy(const Ends& ends, const std::byte* begin, std::uint64_t bytes,
                              Copy copy) {
        if (ends.arena == nullptr) return copy(std::uint64_t{0}, bytes);
        ends.arena->for_each_copy(begin, bytes, copy);
    }

    const Session& session_;
    DeviceBuffer source_;
    DeviceBuffer target_;
    device::Place place_;
    device::Copies to_host_;
    device::Copies to_device_;
};

// Seconds of one copy, of as many as make a time that the clock can tell.
double time_of(Engines& engines, Way way, const Ends& ends, std::uint64_t bytes) {
    constexpr std::uint64_t enough = 1 << 20;
    const auto calls = static_cast<int>(std::clamp<std::uint64_t>(enough / bytes, 1, 64));
    const double seconds = seconds_of([&] {
        for (int i = 0; i < calls; ++i) engines.copy(way, ends, bytes);
    });
    return seconds / calls;
}

std::vector<double> sums_of(const std::vector<double>& some, const std::vector<double>& others) {
    std::vector<double> sums = some;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
    return sums;
}

std::vector<Row> measure_size(const Session& session, Engines& engines,
                              const std::array<Ends, 2>& ends, std::uint64_t bytes) {
    std::array<std::array<std::vector<double>, 2>, ways.size()> times;
    const Settings& settings = session.settings;
    for (int repeat = -settings.warmup; repeat < settings.repeats; ++repeat) {
        for (std::size_t way = 0; way < ways.size(); ++way) {
            for (std::size_t end = 0; end < ends.size(); ++end) {
                const double time = time_of(engines, ways[way], ends[end], bytes);
                if (repeat >= 0) times[way][end].push_back(time);
            }
        }
    }
    std::vector<Row> rows;
    for (std::size_t way = 0; way < ways.size(); ++way) {
        const double moved = static_cast<double>(bytes) * (ways[way] == Way::both ? 2 : 1);
        Row row{ways[way], bytes, rates_of(moved, times[way][0]), rates_of(moved, times[way][1]),
                {},        {}};
        if (ways[way] == Way::both) {
            const std::vector<double> alone = sums_of(rows[0].pinned, rows[1].pinned);
            row.pinned_of_alone = ratios_of(row.pinned, alone);
            row.arena_of_alone = ratios_of(row.arena, alone);
        }
        for (const Ends& end : ends) {
            if (!engines.is_right(ways[way], end, bytes)) row.state = wrong;
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

} // namespace

bool measure_copies(const Session& session, nlohmann::ordered_json& json) {
    const std::uint64_t most = session.settings.most_in_copy;
    const PinnedBuffer written(session.gpu, most);
    const PinnedBuffer read(session.gpu, most);
    Arena arena(2 * most);
    Engines engines(session, most);
    const bool is_pinned = engines.pin(arena);
    const std::array<Ends, 2> ends = {Ends{static_cast<std::byte*>(written.data()),
                                           static_cast<std::byte*>(read.data()), nullptr},
                                      Ends{arena.data(), arena.data() + most, &arena}};
    for (std::size_t i = 0; i < ends.size(); ++i) {
        // Other bytes than those of the device, and for each others.
        std::copy_n(session.pattern.data() + (i + 1) * 64, most, ends[i].read);
    }
    std::printf("\nCopies by the copy engines; pinned: memory of cuMemAllocHost; arena: shared "
                "memory, pinned by parts;\nalone: sum of both ways alone, pinned\n");
    const TextTable<Row> table = copy_table();
    table.print_header();
    bool is_well = true;
    for (std::uint64_t bytes = 1 << 10; bytes <= most; bytes *= 4) {
        for (Row& row : measure_size(session, engines, ends, bytes)) {
            if (!is_pinned && row.state == ok) row.state = "not pinned";
            is_well = is_well && row.state == ok;
            table.print(row);
            json.push_back(json_of(row));
        }
    }
    return is_well;
}

} // namespace bench::copies
