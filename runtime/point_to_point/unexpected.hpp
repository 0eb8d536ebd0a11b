#pragma once

#include "runtime/point_to_point/wire.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <vector>

namespace nodeaware {

/// Messages that came before a receive was posted for them: in order on each channel, and by their
/// arrival for receives with wildcards. There may be very many, as there may be in MPI.
class Unexpected {
  public:
    /// A message that comes after all others of its source.
    void add(wire::Arrived message);
    /// The first that a receive from `source` (or MPI_ANY_SOURCE) with `tag` (or MPI_ANY_TAG)
    /// would take, or nullptr; of those at the head of their channels that `may_have` lets it have.
    const wire::Arrived* find(int source, int tag,
                              const std::function<bool(const wire::Entry&)>& may_have) const;
    /// Takes away what find() has found.
    wire::Arrived take(const wire::Arrived& found);
    /// Takes away all of a source, in the order of their arrival.
    std::vector<wire::Arrived> take_all(int source);
    bool has(int source) const;
    template <class Take> void for_each_source(Take take) const {
        for (const auto& [source, heads] : heads_) { take(source); }
    }
    bool empty() const { return channels_.empty(); }

  private:
    struct Kept {
        wire::Arrived message;
        uint64_t arrival;
    };
    using Heads = std::map<uint64_t, int>; ///< arrival and tag of each channel's first message
    void forget_first(const Channel& channel, uint64_t arrival);
    template <class MayHave> const Kept* first_with(int source, int tag, MayHave may_have) const;
    template <class MayHave>
    const Kept* first_of(const Heads& heads, int source, MayHave may_have) const;

    std::map<Channel, std::list<Kept>> channels_; ///< none is empty
    std::map<int, Heads> heads_;                  ///< by source, none is empty
    uint64_t arrivals_ = 0;
};

} // namespace nodeaware
