#pragma once

#include "tools/bench/layout.hpp"
#include "tools/simulate/rank.hpp"

#include <memory>
#include <string_view>

namespace nodeaware::simulation {

/// What one rank calls again and again.
class Exchange {
  public:
    virtual ~Exchange() = default;
    Exchange() = default;
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    virtual void run() = 0;
    /// After it, in no time: what has come to where it belongs.
    virtual void deliver() {}
};

/// `operation`: "alltoallv", "p2p" or "sdde"; `ranks`: of the job. The others have to live as long.
std::unique_ptr<Exchange> make_exchange(std::string_view operation, Rank& rank,
                                        bench::Buffers& buffers, int ranks);

} // namespace nodeaware::simulation
