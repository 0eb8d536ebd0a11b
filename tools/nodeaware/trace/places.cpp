#include "tools/nodeaware/trace/places.hpp"

#include "tools/nodeaware/trace/line_tool.hpp"
#include "tools/nodeaware/trace/module_file.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <cxxabi.h>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace nodeaware::tool {

namespace {

using Clock = std::chrono::steady_clock;

struct Address {
    std::string file;
    uint64_t offset = 0;
};

/// Of "FILE+0xOFFSET".
std::optional<Address> address_of(const std::string& site) {
    const size_t plus = site.rfind("+0x");
    if (plus == std::string::npos || plus == 0) { return std::nullopt; }
    Address address{site.substr(0, plus), 0};
    const char* const end = site.data() + site.size();
    const auto read = std::from_chars(site.data() + plus + 3, end, address.offset, 16);
    if (read.ec != std::errc() || read.ptr != end || address.offset == 0) { return std::nullopt; }
    return address;
}

/// Seconds since 1970 of the manifest's time; 0 if it is none.
int64_t seconds_of(const std::string& time) {
    std::tm parts = {};
    const char* const end = strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return end == nullptr ? 0 : timegm(&parts);
}

/// A file as ranks have had it: nodes may have different ones by the same name.
using Module = std::pair<std::string, std::string>; ///< and the build ID

using Offsets = std::map<uint64_t, std::vector<SourcePlace>>;

std::string build_id_of(const RankTrace& rank, const std::string& file) {
    const auto found = rank.build_ids.find(file);
    return found == rank.build_ids.end() ? "" : found->second;
}

/// Without build IDs the time of the last change has to tell.
bool is_the_same(const ModuleFile& file, const std::string& build_id, int64_t begin) {
    if (!build_id.empty() || !file.build_id.empty()) { return file.build_id == build_id; }
    return file.changed < begin;
}

std::string demangled(const std::string& name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
    return status == 0 && text ? text.get() : name;
}

/// Without debug information tools name the last symbol before an address, whatever lies there.
void check_function(std::vector<SourcePlace>& places, const std::vector<std::string>& functions) {
    const bool has_line = std::any_of(places.begin(), places.end(),
                                      [](const SourcePlace& place) { return !place.file.empty(); });
    if (places.empty() || has_line) { return; }
    const std::string& said = places.front().function;
    for (const std::string& function : functions) {
        if (said == function || said == demangled(function)) { return; }
    }
    places.clear();
    if (!functions.empty()) { places.push_back({demangled(functions.front()), "", 0}); }
}

void find(const Module& module, Offsets& offsets, int64_t begin, Clock::time_point until) {
    const auto file = read_module_file(module.first);
    if (!file || !is_the_same(*file, module.second, begin)) { return; }
    std::vector<uint64_t> addresses;
    // What is returned to comes after the call, and may belong to another line.
    for (const auto& [offset, places] : offsets) { addresses.push_back(file->base + offset - 1); }
    auto found = ask_line_tool(module.first, addresses, until);
    const auto functions = functions_at(module.first, addresses);
    size_t next = 0;
    for (auto& [offset, places] : offsets) {
        check_function(found[next], functions[next]);
        places = std::move(found[next++]);
    }
}

/// A function without its arguments, and without the name of what has none.
std::string short_name_of(std::string function) {
    const std::string nameless = "(anonymous namespace)::";
    for (size_t at = function.find(nameless); at != std::string::npos;
         at = function.find(nameless)) {
        function.erase(at, nameless.size());
    }
    constexpr size_t most = 40;
    const size_t call = function.find("operator()");
    function = function.substr(0, function.find('(', call == std::string::npos ? 0 : call + 10));
    return function.size() > most ? function.substr(0, most) + "..." : function;
}

std::string last_part_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

} // namespace

void find_places(Trace& trace, std::chrono::seconds most) {
    std::map<Module, Offsets> modules;
    for (const RankTrace& rank : trace.ranks) {
        for (const TracedSite& site : rank.sites) {
            const auto address = address_of(site.site);
            if (!address) { continue; }
            const Module module{address->file, build_id_of(rank, address->file)};
            modules[module].try_emplace(address->offset);
        }
    }
    const Clock::time_point until = Clock::now() + most;
    const int64_t begin = seconds_of(trace.begin);
    for (auto& [module, offsets] : modules) { find(module, offsets, begin, until); }
    for (RankTrace& rank : trace.ranks) {
        for (TracedSite& site : rank.sites) {
            const auto address = address_of(site.site);
            if (!address) { continue; }
            const Module module{address->file, build_id_of(rank, address->file)};
            site.places = modules.at(module).at(address->offset);
        }
    }
}

std::string short_name_of_place(const TracedSite& site) {
    std::string address = last_part_of(site.site);
    if (site.places.empty()) { return address; }
    const SourcePlace& place = site.places.front();
    const std::string function = short_name_of(place.function);
    if (place.file.empty()) { return address + " (" + function + ")"; }
    const std::string line = last_part_of(place.file) + ":" + std::to_string(place.line);
    return function.empty() ? line : line + " (" + function + ")";
}

} // namespace nodeaware::tool
