#pragma once

#include "tools/nodeaware/place/placement.hpp"

#include <string>
#include <vector>

namespace nodeaware::place {

enum class Format { map, rankfile, hydra, slurm, cray };

/// The placement as a file that a launcher takes, or as lines RANK NODE (map). `hosts`: the name of
/// each node, at least for formats that name hosts (hydra, slurm).
std::string to_text(const Placement& placement, Format format,
                    const std::vector<std::string>& hosts);

/// How such a file is used; empty: by no launcher.
std::string use_of(Format format, const std::string& file);

} // namespace nodeaware::place
