#pragma once

#include "tests/unit/scripted/rank.hpp"

#include <map>
#include <string>
#include <vector>

namespace scripted {

/// One message of a plan, with a number that its bytes tell.
struct Planned {
    enum class Mode { send, ssend, bsend, isend, issend };
    int number = 0;
    int source = 0;
    int destination = 0;
    int tag = 0;
    int bytes = 0;
    Mode mode = Mode::isend;
    bool is_gapped = false; ///< its memory, on both sides
};

/// The receive that is to be there for a message; it may get another of its class.
struct Awaited {
    int source = 0;       ///< or MPI_ANY_SOURCE
    int tag = 0;          ///< or MPI_ANY_TAG
    int bytes = 0;        ///< of the largest that it may get
    bool is_late = false; ///< posted, or probed for, when the sends are under way
    bool is_gapped = false;
};

/// Messages that ranks exchange before they wait for all of them. It needs no more of MPI than
/// what the standard promises, whatever ranks do first.
struct Round {
    std::vector<std::vector<Planned>> sends;    ///< of each rank, in its order
    std::vector<std::vector<Awaited>> receives; ///< of each rank
    bool has_gather = false;  ///< all block in MPI before they wait for what they have begun
    bool has_barrier = false; ///< in the end

    static Round random(Random& random, const Job& job);
    /// The same each time: messages between nodes, to be learned.
    static Round learned(const Job& job);
};

/// What the ranks of a job have sent and received in one round, and whether it is what MPI
/// promises: every message once, with its bytes, and none has overtaken another one.
class Record {
  public:
    void sent(const Planned& message);
    void received(int rank, const Awaited& pattern, size_t position, const MPI_Status& status,
                  const std::vector<std::byte>& bytes);
    /// Empty, or what is wrong.
    std::string verdict() const;

  private:
    struct Received {
        int rank;
        Awaited pattern;
        size_t position; ///< among the receives of its rank
    };
    std::map<int, Planned> sent_;
    std::map<std::pair<int, int>, std::vector<int>> order_; ///< by source and destination
    std::map<int, Received> received_;
    std::string wrong_;
};

/// Executes the part of one rank.
void execute(Rank& rank, const Round& round, Record& record, Random random);

std::vector<std::byte> bytes_of(const Planned& message);

} // namespace scripted
