#pragma once

#include "tools/nodeaware/roff.hpp"

/// Sections of libnodeaware(7).
namespace nodeaware::tool {

void add_use_elsewhere(Roff& page); ///< environment modules, containers, scripts
void add_versions(Roff& page);

} // namespace nodeaware::tool
