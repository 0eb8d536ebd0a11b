#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace nodeaware {

/// Messages that come before their addressee. Addressees have names, given one after the other by
/// the rank that is in the upper half of them; every rank gets those that one rank has named in
/// the order of their names. So what comes for one that is not there, though it or a later one has
/// been, is for nobody: it has come another way already, or its addressee never came to be here.
class EarlyMessages {
  public:
    using Name = uint64_t;
    using Message = std::pair<std::shared_ptr<const std::byte>, uint64_t>; ///< and its size

    static Name name(int rank, uint32_t number) {
        return Name{static_cast<uint32_t>(rank)} << 32 | number;
    }

    /// The addressee is not there: keeps the message if it may still come.
    void keep(Name name, Message message) {
        const auto newest = newest_.find(rank_of(name));
        if (newest != newest_.end() && name <= newest->second) { return; }
        messages_[name].push_back(std::move(message));
    }
    /// The addressee is there now, or will never be: what has come for it. Those with earlier names
    /// of the same rank that are not there will never be. Throws std::bad_alloc, and then nothing
    /// has changed.
    std::vector<Message> comes(Name name) {
        Name& newest = newest_.try_emplace(rank_of(name), name).first->second;
        newest = std::max(newest, name);
        std::vector<Message> its;
        if (const auto found = messages_.find(name); found != messages_.end()) {
            its = std::move(found->second);
        }
        const Name first = name >> 32 << 32;
        messages_.erase(messages_.lower_bound(first), messages_.upper_bound(name));
        return its;
    }
    /// Addressees for which messages are kept.
    size_t awaited() const { return messages_.size(); }

  private:
    static uint32_t rank_of(Name name) { return static_cast<uint32_t>(name >> 32); }

    std::map<uint32_t, Name> newest_; ///< that has been there, by the rank that named it
    std::map<Name, std::vector<Message>> messages_;
};

} // namespace nodeaware
