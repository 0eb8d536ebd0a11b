#include "session.hpp"

#include "tools/bench/json_file.hpp"

#include <cstring>
#include <new>

namespace bench::copies {
namespace {

constexpr int spoilt = 0x5e;

} // namespace

std::vector<std::byte> make_pattern(std::uint64_t bytes) {
    std::vector<std::byte> pattern(bytes);
    std::uint64_t state = 1;
    for (std::uint64_t i = 0; i + sizeof state <= bytes; i += sizeof state) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const std::uint64_t word = state ^ (state >> 29U);
        std::memcpy(pattern.data() + i, &word, sizeof word);
    }
    return pattern;
}

Arena::Arena(std::uint64_t bytes) : memory_(nodeaware::SharedMemory::create_alone(bytes)) {
    if (memory_.data() == nullptr) throw std::bad_alloc();
    spoil(memory_.data(), bytes); // pages are there
    pinned_.attach(memory_.data(), bytes);
}

Arena::~Arena() {
    if (!pinned_.unpin()) memory_.leave_mapped();
}

bool Arena::pin(device::Copies& copies, const device::Place& place) {
    pinned_.pin(copies, place, span(data(), bytes()));
    return is_pinned();
}

bool Arena::is_pinned() const {
    bool is_all = true;
    for_each_copy(data(), bytes(), [&](std::uint64_t offset, std::uint64_t part) {
        is_all = is_all && device::find_pinned(span(data() + offset, part)).bytes > 0;
    });
    return is_all;
}

void spoil(const Session& session, std::uint64_t address, std::uint64_t bytes) {
    std::vector<std::byte> other(bytes);
    spoil(other.data(), bytes);
    session.gpu.copy_to_device(address, other.data(), bytes);
    session.gpu.synchronize();
}

void spoil(std::byte* memory, std::uint64_t bytes) { std::memset(memory, spoilt, bytes); }

std::vector<std::byte> read_back(const Session& session, std::uint64_t address,
                                 std::uint64_t bytes) {
    std::vector<std::byte> read(bytes);
    session.gpu.copy_to_host(read.data(), address, bytes);
    return read;
}

bool are_alike(const std::byte* one, const std::byte* other, std::uint64_t bytes) {
    return std::memcmp(one, other, bytes) == 0;
}

std::vector<double> ratios_of(const std::vector<double>& some, const std::vector<double>& others) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(some.size(), others.size()); ++i)
        ratios.push_back(some[i] / others[i]);
    return ratios;
}

std::vector<double> scaled(std::vector<double> values, double factor) {
    for (double& value : values) value *= factor;
    return values;
}

std::vector<double> rates_of(double bytes, const std::vector<double>& seconds) {
    std::vector<double> rates;
    rates.reserve(seconds.size());
    for (const double time : seconds) rates.push_back(1e-9 * bytes / time);
    return rates;
}

std::string spread_or_none(const std::vector<double>& values, int decimals) {
    return values.empty() ? "-" : spread(summarize(values), decimals);
}

nlohmann::ordered_json to_json(const std::vector<double>& values) {
    if (values.empty()) return nullptr;
    nlohmann::ordered_json json = bench::to_json(summarize(values));
    json["repeats"] = values;
    return json;
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::uint64_t kib = 1 << 10;
    constexpr std::uint64_t mib = 1 << 20;
    if (bytes >= mib && bytes % mib == 0) return std::to_string(bytes / mib) + " MiB";
    if (bytes >= kib && bytes % kib == 0) return std::to_string(bytes / kib) + " KiB";
    return std::to_string(bytes) + " B";
}

} // namespace bench::copies
