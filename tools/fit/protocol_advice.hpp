#pragma once

#include "tools/fit/fit.hpp"

#include <string>

namespace nodeaware::tuning {

/// How many times what a message would take by the eager protocol one that is just too large for it
/// must take, for advice to be given.
inline constexpr double dear_rendezvous = 1.5;

/// One line that tells to raise the MPI's eager limit between nodes, and how, if messages just
/// above it take far longer than the line of the eager ones says ([K] 6.1, see postal.hpp: they
/// also overlap better). Empty: nothing is to be gained, the table has not both protocols, or the
/// fit of one of them is doubtful. The limit that it names is at most 16 times what is there, for
/// so far the line is believed, and such that eager messages still take less there.
std::string eager_advice(const FitResult& result);

} // namespace nodeaware::tuning
