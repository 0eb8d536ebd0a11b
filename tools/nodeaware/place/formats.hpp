#pragma once

#include "strategies/placement/placement.hpp"

#include <string>
#include <vector>

namespace nodeaware::place {

enum class Format { map, rankfile, slurm, cray };

/// The placement as a file that a launcher takes, or as lines RANK NODE (map). `hosts`: the name of
/// each node, which slurm needs; if empty, a rankfile has relative nodes.
///
/// A machine file of MPICH's Hydra is not among them: where a host has several runs of ranks in it,
/// MPICH takes each for a node by itself.
std::string to_text(const Placement& placement, Format format,
                    const std::vector<std::string>& hosts);

/// How such a file is used; empty: by no launcher.
std::string use_of(Format format, const std::string& file);

} // namespace nodeaware::place
