// Lists of copies by the library's kernel: gathered and scattered within a device, to and from the
// arena, against one copy of as many bytes by the copy engine.
#include "list_set.hpp"
#include "session.hpp"
#include "tools/bench/text_table.hpp"

#include <array>
#include <cstdio>
#include <optional>

namespace bench::copies {
namespace {

constexpr std::array<std::uint64_t, 11> segments = {
    8, 16, 32, 64, 128, 256, 512, 1U << 10U, 4U << 10U, 16U << 10U, 64U << 10U};

struct Row {
    Direction direction;
    bool is_list_on_device;
    std::uint64_t segment; // bytes
    std::uint64_t count;   // of segments
    std::size_t lists = 0;
    std::uint64_t list_bytes = 0; // that the kernel reads in memory of the host
    // GB/s of what is copied; in turn.
    std::vector<double> kernel{};
    std::vector<double> engine{};
    std::string state = ok;

    std::uint64_t bytes() const { return segment * count; }
    // GB/s, within a device: the device reads and writes as many bytes a second as for the copy,
    // and reads whole sectors.
    std::optional<double> bound() const {
        if (direction != Direction::within_device || engine.empty()) return std::nullopt;
        constexpr std::uint64_t sector = 32;
        const std::uint64_t read = (segment + sector - 1) / sector * sector;
        const double traffic = 2 * summarize(engine).median;
        return traffic * static_cast<double>(segment) / static_cast<double>(read + segment);
    }
};

std::string name_of(const Row& row) {
    switch (row.direction) {
    case Direction::to_host: return "to arena";
    case Direction::to_device: return "from arena";
    default: return row.is_list_on_device ? "within, *" : "within device";
    }
}

TextTable<Row> list_table() {
    return TextTable<Row>({
        {"lists", -13, [](const Row& r) { return name_of(r); }},
        {"segment", 8, [](const Row& r) { return bytes_text(r.segment); }},
        {"segments", 8, [](const Row& r) { return std::to_string(r.count); }},
        {"lists", 5, [](const Row& r) { return std::to_string(r.lists); }},
        {"kernel GB/s", 24, [](const Row& r) { return spread_or_none(r.kernel, 2); }},
        {"one copy GB/s", 24, [](const Row& r) { return spread_or_none(r.engine, 2); }},
        {"kernel:copy", 20,
         [](const Row& r) { return spread_or_none(ratios_of(r.kernel, r.engine), 3); }},
        {"bound GB/s", 10,
         [](const Row& r) { return r.bound() ? number(*r.bound(), 2) : std::string("-"); }},
        {"kernel:bound", 12,
         [](const Row& r) {
             if (!r.bound() || r.kernel.empty()) return std::string("-");
             return number(summarize(r.kernel).median / *r.bound(), 3);
         }},
        {"result", -6, [](const Row& r) { return r.state; }},
    });
}

nlohmann::ordered_json json_of(const Row& row) {
    nlohmann::ordered_json json{{"lists_of", name_of(row)},
                                {"is_list_on_device", row.is_list_on_device},
                                {"segment_bytes", row.segment},
                                {"segments", row.count},
                                {"lists", row.lists},
                                {"list_bytes", row.list_bytes},
                                {"kernel_gb_per_s", to_json(row.kernel)},
                                {"one_copy_gb_per_s", to_json(row.engine)},
                                {"kernel_to_copy", to_json(ratios_of(row.kernel, row.engine))},
                                {"bound_gb_per_s", nullptr},
                                {"state", row.state}};
    if (row.bound()) json["bound_gb_per_s"] = *row.bound();
    return json;
}

// Memory that the lists are of: segments lie apart in `wide`, and side by side in what is as long
// as they are together.
class ListMemory {
  public:
    explicit ListMemory(const Session& session)
        : session_(session), wide_(session.gpu, apart * session.settings.listed_within),
          narrow_(session.gpu, session.settings.listed_within),
          pinned_(session.gpu, session.settings.listed_on_host),
          arena_(session.settings.listed_on_host), place_(device::locate(wide_.data())) {
        fill();
        device::Copies copies(place_);
        arena_.pin(copies, place_);
    }

    const device::Place& place() const { return place_; }
    bool is_reached(Direction direction) const {
        return direction == Direction::within_device || arena_.is_pinned();
    }

    void add_all(const Row& row, device::Copies& copies, ListSet& lists) const {
        for (std::uint64_t i = 0; i < row.count; ++i) {
            const std::uint64_t in_wide = wide_.address() + i * apart * row.segment;
            const std::uint64_t side_by_side =
                narrow_address(row.direction, copies, i * row.segment);
            const bool is_gathered = row.direction != Direction::to_device;
            lists.add(copies, is_gathered ? side_by_side : in_wide,
                      is_gathered ? in_wide : side_by_side, row.segment);
        }
    }

    // To compare with.
    void copy_at_once(Direction direction, device::Copies& copies, std::uint64_t bytes) const {
        switch (direction) {
        case Direction::to_host: return copies.to_host(pinned_.data(), wide_.address(), bytes);
        case Direction::to_device: return copies.to_device(wide_.address(), pinned_.data(), bytes);
        default: return copies.within_device(narrow_.address(), wide_.address(), bytes);
        }
    }

    // Before the copies of the lists whose bytes are looked at.
    void prepare(const Row& row) {
        switch (row.direction) {
        case Direction::to_host: fill(); return spoil(arena_.data(), arena_.bytes());
        case Direction::to_device:
            fill();
            std::copy_n(other_pattern(), arena_.bytes(), arena_.data());
            return;
        default: fill(); return spoil(session_, narrow_.address(), row.bytes());
        }
    }

    bool is_right(const Row& row) const {
        switch (row.direction) {
        case Direction::to_host: return is_gathered(row, arena_.data());
        case Direction::to_device: return is_scattered(row);
        default:
            return is_gathered(row, read_back(session_, narrow_.address(), row.bytes()).data());
        }
    }

  private:
    void fill() {
        const std::uint64_t bytes = apart * session_.settings.listed_within;
        session_.gpu.copy_to_device(wide_.address(), session_.pattern.data(), bytes);
        session_.gpu.synchronize();
    }
    const std::byte* other_pattern() const { return session_.pattern.data() + 64; }

    // Of a byte of what lies side by side. Parts of the arena are seen each for itself.
    std::uint64_t narrow_address(Direction direction, device::Copies& copies,
                                 std::uint64_t offset) const {
        if (direction == Direction::within_device) return narrow_.address() + offset;
        const auto begin = reinterpret_cast<std::uintptr_t>(arena_.data() + offset);
        if (begin < seen_.begin || begin >= seen_.begin + seen_.bytes) {
            seen_ = device::find_pinned({begin, 1});
            seen_address_ = copies.address_for_kernels(seen_);
        }
        return seen_address_ + (begin - seen_.begin);
    }

    bool is_gathered(const Row& row, const std::byte* gathered) const {
        for (std::uint64_t i = 0; i < row.count; ++i) {
            const std::byte* const source = session_.pattern.data() + i * apart * row.segment;
            if (!are_alike(gathered + i * row.segment, source, row.segment)) return false;
        }
        return true;
    }
    // Between the segments, all is as it was.
    bool is_scattered(const Row& row) const {
        const std::uint64_t bytes = apart * row.bytes();
        std::vector<std::byte> expected(session_.pattern.begin(),
                                        session_.pattern.begin() +
                                            static_cast<std::ptrdiff_t>(bytes));
        for (std::uint64_t i = 0; i < row.count; ++i) {
            std::copy_n(other_pattern() + i * row.segment, row.segment,
                        expected.data() + i * apart * row.segment);
        }
        return are_alike(read_back(session_, wide_.address(), bytes).data(), expected.data(),
                         bytes);
    }

    const Session& session_;
    DeviceBuffer wide_;
    DeviceBuffer narrow_;
    PinnedBuffer pinned_;
    Arena arena_;
    device::Place place_;
    mutable device::Span seen_; // the part of the arena that was looked at last
    mutable std::uint64_t seen_address_ = 0;
};

// Both several times in a row, so that their ends do not count.
constexpr int rounds = 4;

// GB/s of so many rounds.
template <class Begin> double rate_of(device::Copies& copies, std::uint64_t bytes, Begin begin) {
    const double seconds = seconds_of([&] {
        for (int i = 0; i < rounds; ++i) begin();
        copies.finish();
    });
    return 1e-9 * rounds * static_cast<double>(bytes) / seconds;
}

void measure(const Settings& settings, device::Copies& copies, const ListMemory& memory,
             const ListSet& lists, Row& row) {
    for (int repeat = -settings.warmup; repeat < settings.repeats; ++repeat) {
        const double kernel = rate_of(copies, row.bytes(), [&] { lists.launch(copies); });
        const double engine = rate_of(
            copies, row.bytes(), [&] { memory.copy_at_once(row.direction, copies, row.bytes()); });
        if (repeat < 0) continue;
        row.kernel.push_back(kernel);
        row.engine.push_back(engine);
    }
}

Row measure_row(const Session& session, ListMemory& memory, Direction direction,
                bool is_list_on_device, std::uint64_t segment) {
    const Settings& settings = session.settings;
    const std::uint64_t total =
        direction == Direction::within_device ? settings.listed_within : settings.listed_on_host;
    Row row{direction, is_list_on_device, segment, total / segment};
    device::Copies copies(memory.place());
    copies.use_own_stream(direction);
    if (!device::list_kernel::is_usable(copies)) {
        row.state = "no kernel";
        return row;
    }
    ListSet lists(is_list_on_device ? &session.gpu : nullptr);
    if (memory.is_reached(direction)) memory.add_all(row, copies, lists);
    if (!memory.is_reached(direction) || !lists.close(copies)) {
        row.state = "not pinned";
        return row;
    }
    row.lists = lists.count();
    row.list_bytes = lists.bytes();
    memory.prepare(row);
    const bool has_begun = lists.launch(copies);
    copies.finish();
    if (!has_begun || !memory.is_right(row)) row.state = wrong;
    measure(settings, copies, memory, lists, row);
    return row;
}

} // namespace

bool measure_lists(const Session& session, nlohmann::ordered_json& json) {
    ListMemory memory(session);
    std::printf("\nLists of copies by the kernel; segments on the device are %d times their length "
                "apart;\n*: the list is there, too; bound: by whole sectors of 32 bytes at the "
                "copy's rate of bytes read and "
                "written\n",
                static_cast<int>(apart));
    const TextTable<Row> table = list_table();
    table.print_header();
    bool is_well = true;
    const auto measure_all = [&](Direction direction, bool is_list_on_device) {
        for (const std::uint64_t segment : segments) {
            const Row row = measure_row(session, memory, direction, is_list_on_device, segment);
            is_well = is_well && row.state == ok;
            table.print(row);
            json.push_back(json_of(row));
        }
    };
    measure_all(Direction::within_device, false);
    measure_all(Direction::within_device, true);
    measure_all(Direction::to_host, false);
    measure_all(Direction::to_device, false);
    return is_well;
}

} // namespace bench::copies
