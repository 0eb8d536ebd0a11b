#pragma once

#include "strategies/placement/placement.hpp"

#include <string>
#include <vector>

namespace nodeaware::place {

enum class Format { map, rankfile, slurm, cray, hydra };

/// The placement as a file that a launcher takes, or as lines RANK NODE (map). `hosts`: the name of
/// each node, which slurm and hydra need; if empty, a rankfile has relative nodes.
std::string to_text(const Placement& placement, Format format,
                    const std::vector<std::string>& hosts);

/// Why no such file makes this placement; empty: one does.
///
/// To MPICH each line of a machine file is a node by itself, also where the host has been named
/// before (only lines in a row are joined). But Hydra begins again at the first line when it is
/// through and ranks are left, and then they share the nodes of the first round. So each host may
/// have one line, and what it makes is rounds of the same nodes with the same numbers of ranks.
std::string complaint_of(const Placement& placement, Format format);

/// How such a file is used, and what has to be known of it; empty: by no launcher. `has_hosts`:
/// their names.
std::string use_of(Format format, const std::string& file, bool has_hosts);

} // namespace nodeaware::place
