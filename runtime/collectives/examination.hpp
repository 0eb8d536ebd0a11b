#pragma once

#include "runtime/collectives/exchange_arguments.hpp"

namespace nodeaware {

enum class Form { blocking, nonblocking, persistent };

/// How many blocks a call sends and receives.
struct BlockNumbers {
    int sent = 0;
    int received = 0;
    int own = 0; ///< the block of this rank itself, in operations among all ranks
};

/// What MPI does with a call before it talks to anybody.
enum class Examined {
    accepted,
    refused, ///< it returns an error
    empty,   ///< it returns without error, for there is nothing to move between any ranks
};

/// Asks for all that this MPI asks for, and nothing else: a rank that finds its call refused leaves
/// it to MPI alone while other ranks may go on with theirs. Local.
Examined examine(const ExchangeArguments& arguments, const BlockNumbers& numbers, Form form);

} // namespace nodeaware
