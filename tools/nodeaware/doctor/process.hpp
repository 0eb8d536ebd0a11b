#pragma once

#include "tools/nodeaware/doctor/facts.hpp"

namespace nodeaware::tool::doctor {

/// What this process can tell of itself without MPI. `flavor` is the one that it is linked with.
RankFacts facts_of_process(MpiFlavor flavor);

} // namespace nodeaware::tool::doctor
