#include "tools/nodeaware/info_gpus.hpp"

#include "tools/gpu/gpu.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace nodeaware::tool {

namespace {

using Json = nlohmann::ordered_json;

/// A GPU as one rank sees it, or the rank itself where `ordinal` is -1.
struct Seen {
    char host[64] = "";
    int rank = 0;
    int ordinal = -1;
    MachinePart part;
    uint64_t memory = 0;
    char name[128] = "";
    char pci_id[32] = "";
};

void copy_text(std::string_view text, char* to, size_t room) {
    text.substr(0, room - 1).copy(to, room - 1);
}

/// This rank, and its GPUs.
std::vector<Seen> look(const MachinePart& place, int rank, std::string& summary) {
    Seen base;
    gethostname(base.host, sizeof base.host - 1);
    base.rank = rank;
    base.part = place;
    std::vector<Seen> seen = {base};
    Gpu gpu;
    std::vector<GpuDescription> described;
    summary = gpu.open();
    try {
        described = gpu.describe();
    } catch (const GpuError& error) { summary = error.what(); }
    std::vector<std::string> pci_ids;
    for (GpuDescription& description : described) {
        std::transform(description.pci_id.begin(), description.pci_id.end(),
                       description.pci_id.begin(), [](unsigned char c) { return std::tolower(c); });
        pci_ids.push_back(description.pci_id);
    }
    const std::vector<MachinePart> parts = find_devices(pci_ids);
    for (size_t i = 0; i < described.size(); ++i) {
        Seen device = base;
        device.ordinal = static_cast<int>(i);
        device.part = parts[i];
        device.memory = described[i].memory;
        copy_text(described[i].name, device.name, sizeof device.name);
        copy_text(described[i].pci_id, device.pci_id, sizeof device.pci_id);
        seen.push_back(device);
    }
    return seen;
}

/// Those of all ranks, on rank 0, in the order of the ranks. Collective.
std::vector<Seen> gather(const std::vector<Seen>& mine, int rank) {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const auto bytes = static_cast<int>(mine.size() * sizeof(Seen));
    std::vector<int> all_bytes(static_cast<size_t>(size));
    MPI_Gather(&bytes, 1, MPI_INT, all_bytes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::vector<int> places;
    int sum = 0;
    for (const int some : all_bytes) {
        places.push_back(sum);
        sum += some;
    }
    std::vector<Seen> all(rank == 0 ? static_cast<size_t>(sum) / sizeof(Seen) : 0);
    MPI_Gatherv(mine.data(), bytes, MPI_BYTE, all.data(), all_bytes.data(), places.data(), MPI_BYTE,
                0, MPI_COMM_WORLD);
    return all;
}

Json nearest_ranks(const Seen& gpu, const std::vector<Seen>& all) {
    for (const auto part : {&MachinePart::numa, &MachinePart::socket}) {
        Json ranks = Json::array();
        for (const Seen& one : all) {
            const bool is_near = one.ordinal < 0 && gpu.part.*part >= 0 &&
                                 one.part.*part == gpu.part.*part &&
                                 std::string_view(one.host) == gpu.host;
            if (is_near) { ranks.push_back(one.rank); }
        }
        if (!ranks.empty()) { return ranks; }
    }
    return Json::array();
}

Json describe(const Seen& gpu) {
    return {{"host", gpu.host},     {"ordinal", gpu.ordinal}, {"name", gpu.name},
            {"memory", gpu.memory}, {"pci_id", gpu.pci_id},   {"socket", gpu.part.socket},
            {"numa", gpu.part.numa}};
}

std::string text_of(const Json& ranks) {
    std::string text;
    for (const Json& rank : ranks) {
        text += (text.empty() ? "" : ",") + std::to_string(rank.get<int>());
    }
    return text.empty() ? "-" : text;
}

} // namespace

FoundGpus find_gpus(const MachinePart& place, bool is_job) {
    FoundGpus found{"", Json::array()};
    int rank = 0;
    if (is_job) { MPI_Comm_rank(MPI_COMM_WORLD, &rank); }
    std::vector<Seen> all = look(place, rank, found.summary);
    if (is_job) { all = gather(all, rank); }
    for (const Seen& gpu : all) {
        const bool is_known =
            std::any_of(found.list.begin(), found.list.end(), [&](const Json& one) {
                return one["host"] == gpu.host && one["pci_id"] == gpu.pci_id;
            });
        if (gpu.ordinal < 0 || is_known) { continue; }
        found.list.push_back(describe(gpu));
        if (is_job) { found.list.back()["nearest_ranks"] = nearest_ranks(gpu, all); }
    }
    if (!found.list.empty()) { found.summary = fmt::format("{} GPUs", found.list.size()); }
    return found;
}

void print_gpus(const Json& list) {
    if (list.empty()) { return; }
    fmt::print("\n{:>6} {:<20} {:<13} {:>6} {:>7} {:>5} {:<14} {}\n", "GPU", "host", "PCI id",
               "GiB", "socket", "NUMA", "nearest ranks", "name");
    for (const Json& gpu : list) {
        constexpr double gib = 1 << 30;
        fmt::print(
            "{:>6} {:<20} {:<13} {:>6.1f} {:>7} {:>5} {:<14} {}\n", gpu["ordinal"].get<int>(),
            gpu["host"].get<std::string>(), gpu["pci_id"].get<std::string>(),
            gpu["memory"].get<double>() / gib, gpu["socket"].get<int>(), gpu["numa"].get<int>(),
            text_of(gpu.value("nearest_ranks", Json::array())), gpu["name"].get<std::string>());
    }
}

} // namespace nodeaware::tool
