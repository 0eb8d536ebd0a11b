#include "tools/nodeaware/place/formats.hpp"

#include <algorithm>

namespace nodeaware::place {

namespace {

std::string map_text(const Placement& placement) {
    std::string text;
    for (size_t rank = 0; rank < placement.size(); ++rank) {
        text += std::to_string(rank) + " " + std::to_string(placement[rank]) + "\n";
    }
    return text;
}

/// Without names of hosts: relative nodes (+n0, +n1, ...), which Open MPI takes only of the
/// allocation of a resource manager, in its order.
std::string rankfile_text(const Placement& placement, const std::vector<std::string>& hosts) {
    std::string text;
    std::vector<int> used(placement.size());
    for (size_t rank = 0; rank < placement.size(); ++rank) {
        const auto node = static_cast<size_t>(placement[rank]);
        text += "rank " + std::to_string(rank) + "=" +
                (hosts.empty() ? "+n" + std::to_string(node) : hosts[node]) +
                " slot=" + std::to_string(used[node]++) + "\n";
    }
    return text;
}

std::string slurm_text(const Placement& placement, const std::vector<std::string>& hosts) {
    std::string text;
    for (const int node : placement) { text += hosts[static_cast<size_t>(node)] + "\n"; }
    return text;
}

/// The ranks of a node on a line: nodes are filled from the first one, in this order.
std::string cray_text(const Placement& placement) {
    std::vector<std::string> lines;
    for (size_t rank = 0; rank < placement.size(); ++rank) {
        const auto node = static_cast<size_t>(placement[rank]);
        lines.resize(std::max(lines.size(), node + 1));
        lines[node] += (lines[node].empty() ? "" : ",") + std::to_string(rank);
    }
    std::string text;
    for (const std::string& line : lines) { text += line + "\n"; }
    return text;
}

struct Run {
    int node = 0;
    size_t ranks = 0;
};

/// The runs of ranks until a node comes up again.
std::vector<Run> first_round(const Placement& placement) {
    std::vector<Run> runs;
    for (const int node : placement) {
        if (!runs.empty() && runs.back().node == node) {
            ++runs.back().ranks;
            continue;
        }
        const auto is_again = [&](const Run& run) { return run.node == node; };
        if (std::any_of(runs.begin(), runs.end(), is_again)) { break; }
        runs.push_back({node, 1});
    }
    return runs;
}

bool is_made_of_rounds(const Placement& placement, const std::vector<Run>& runs) {
    size_t rank = 0;
    while (rank < placement.size()) {
        for (const Run& run : runs) {
            for (size_t i = 0; i < run.ranks && rank < placement.size(); ++i, ++rank) {
                if (placement[rank] != run.node) { return false; }
            }
        }
    }
    return true;
}

std::string hydra_text(const Placement& placement, const std::vector<std::string>& hosts) {
    std::string text;
    for (const Run& run : first_round(placement)) {
        text += hosts[static_cast<size_t>(run.node)] + ":" + std::to_string(run.ranks) + "\n";
    }
    return text;
}

} // namespace

std::string to_text(const Placement& placement, Format format,
                    const std::vector<std::string>& hosts) {
    switch (format) {
    case Format::map: return map_text(placement);
    case Format::rankfile: return rankfile_text(placement, hosts);
    case Format::slurm: return slurm_text(placement, hosts);
    case Format::cray: return cray_text(placement);
    case Format::hydra: return hydra_text(placement, hosts);
    }
    return {};
}

std::string complaint_of(const Placement& placement, Format format) {
    if (format != Format::hydra || is_made_of_rounds(placement, first_round(placement))) {
        return "";
    }
    return "MPICH's mpiexec cannot place ranks so: where a host comes up again in a machine file, "
           "MPICH takes it for another node; under Slurm srun can (--format slurm), else number "
           "the ranks in the application (--format map says which belong together)";
}

std::string use_of(Format format, const std::string& file, bool has_hosts) {
    switch (format) {
    case Format::map: break;
    case Format::rankfile:
        return "mpirun --rankfile " + file +
               " ... (Open MPI)\nIt binds each rank to a core of its own, one after the other on "
               "its node." +
               (has_hosts ? ""
                          : "\nWithout --hosts it is for an allocation of a resource manager.");
    case Format::slurm: return "SLURM_HOSTFILE=" + file + " srun --distribution=arbitrary ...";
    case Format::hydra: return "mpiexec -f " + file + " ... (MPICH)";
    case Format::cray:
        return "MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE=" + file + " srun ...";
    }
    return {};
}

} // namespace nodeaware::place
