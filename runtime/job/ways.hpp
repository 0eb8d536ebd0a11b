#pragma once

#include "strategies/strategy.hpp"

#include <string_view>
#include <vector>

namespace nodeaware {

/// One of the ways in which the calls of an operation may go, among which the library learns the
/// fastest: the application's own call, a strategy, or a form of one.
struct Way {
    std::string_view name;
    const Strategy* strategy; ///< nullptr: native
    /// Of nodes that relay. Whether a message costs the node or the rank that sends it, and up to
    /// which size MPI sends at once, tables of other machines have wrong: with the fewest messages,
    /// whatever the model says, and with carriers in one message.
    bool has_fewest_messages = false;
    bool is_whole = false;
};

/// All of them, native first. Where times are equal, the first wins.
const std::vector<Way>& ways();
std::vector<std::string_view> names_of_ways();

} // namespace nodeaware
