#include "tools/nodeaware/doctor/facts.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace nodeaware::tool::doctor {

using Json = nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankFacts, host, mpi, mpi_file, libc, library, core, core_error,
                                   identity, preloads, tools, settings, launcher)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankGroup, ranks, facts)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MemoryFacts, host, is_shared, is_in_dev_shm, free_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TableFacts, wanted, used, complaint, difference)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobFacts, ranks, machines, node_of, groups, complaints,
                                   unwritable, is_disabled, is_observing, is_native,
                                   has_virtual_nodes, wanted_bytes, memory, table)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExchangeFacts, wrong, has_report, is_rerouted, left_to_mpi)

namespace {

std::string line_of(const Json& json) {
    return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

template <class Value> std::optional<Value> read(const std::string& text) {
    try {
        return Json::parse(text).get<Value>();
    } catch (const Json::exception&) { return std::nullopt; }
}

/// What is said of a job relies on it.
bool is_whole(const JobFacts& job) {
    const auto has_ranks = [](const RankGroup& group) { return !group.ranks.empty(); };
    return job.ranks > 0 && job.node_of.size() == static_cast<size_t>(job.ranks) &&
           !job.groups.empty() && std::all_of(job.groups.begin(), job.groups.end(), has_ranks);
}

} // namespace

std::string to_text(const RankFacts& rank) { return line_of(rank); }
std::string to_text(const MemoryFacts& memory) { return line_of(memory); }
std::string to_text(const JobFacts& job) { return line_of(job); }

std::string to_text(const ExchangeFacts& exchange) { return line_of(exchange); }

std::optional<RankFacts> read_rank(const std::string& text) { return read<RankFacts>(text); }

std::optional<MemoryFacts> read_memory(const std::string& text) { return read<MemoryFacts>(text); }

std::optional<JobFacts> read_job(const std::string& text) {
    std::optional<JobFacts> job = read<JobFacts>(text);
    return job && is_whole(*job) ? job : std::nullopt;
}

std::optional<ExchangeFacts> read_exchange(const std::string& text) {
    return read<ExchangeFacts>(text);
}

} // namespace nodeaware::tool::doctor
