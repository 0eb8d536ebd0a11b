#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace nodeaware {

/// Messages whose addressee is not there. An addressee that comes later wants what begins a
/// conversation, which is small; all else is for one that has gone. The newest are kept.
class EarlyMessages {
  public:
    using Name = uint64_t;
    using Message = std::pair<std::shared_ptr<const std::byte>, uint64_t>; ///< and its size
    static constexpr uint64_t most_bytes = 256;                            ///< of a message
    static constexpr size_t most = 1024;

    void keep(Name name, Message message) {
        if (message.second > most_bytes) { return; }
        messages_.emplace_back(name, std::move(message));
        if (messages_.size() > most) { messages_.pop_front(); }
    }
    /// The addressee is there now: what has come for it. Throws std::bad_alloc, and then nothing
    /// has changed.
    std::vector<Message> comes(Name name) {
        std::vector<Message> its;
        for (const auto& [whose, message] : messages_) {
            if (whose == name) { its.push_back(message); }
        }
        std::erase_if(messages_, [&](const auto& kept) { return kept.first == name; });
        return its;
    }
    size_t kept() const { return messages_.size(); }

  private:
    std::deque<std::pair<Name, Message>> messages_;
};

} // namespace nodeaware
