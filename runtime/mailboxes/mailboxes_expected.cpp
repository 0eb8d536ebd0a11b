#include "runtime/mailboxes/mailboxes.hpp"

#include <algorithm>

/// What this node is expected to send.
namespace nodeaware {

void Mailboxes::publish(const batches::Batch& batch, const std::vector<int>& members) {
    std::vector<ExpectedTraffic::Traffic> traffic(keepers_.size());
    for (const batches::Stream& stream : batch.streams) {
        if (stream.bytes > most_bytes_) { continue; }
        const int rank = members[static_cast<size_t>(stream.destination)];
        auto& sent = traffic[static_cast<size_t>(other_of(topology_.node_of(rank)))];
        ++sent.messages;
        sent.bytes += stream.bytes;
    }
    for (size_t i = 0; i < traffic.size(); ++i) {
        const auto before = expected_.of(static_cast<int>(i), local_);
        if (before.messages >= traffic[i].messages) { continue; }
        expected_.set(static_cast<int>(i), local_, traffic[i]);
    }
}

void Mailboxes::publish_anew() {
    for (int i = 0; i < static_cast<int>(keepers_.size()); ++i) { expected_.set(i, local_, {}); }
}

bool Mailboxes::is_shared(int destination) const {
    return expected_.messages(other_of(topology_.node_of(destination))) > 1;
}

/// As if all messages of a rank to a node were of one size.
batches::Forecast Mailboxes::forecast() const {
    constexpr uint32_t most = 1024;
    batches::NodeBatches shared(static_cast<size_t>(topology_.ranks_on(node_)));
    for (size_t local = 0; local < shared.size(); ++local) {
        batches::Batch batch{{}, 1, 1};
        for (int other = 0; other < static_cast<int>(keepers_.size()); ++other) {
            const auto sent = expected_.of(other, static_cast<int>(local));
            const auto& ranks = topology_.ranks_of(node_of_other(other));
            for (uint32_t i = 0; i < std::min(sent.messages, most); ++i) {
                batch.streams.push_back(
                    {ranks[i % ranks.size()], static_cast<int32_t>(i), sent.bytes / sent.messages});
            }
        }
        std::sort(batch.streams.begin(), batch.streams.end());
        if (!batch.streams.empty()) { shared[local].push_back(std::move(batch)); }
    }
    return batches::forecast(shared, batches::containers_of(shared, topology_, most_bytes_),
                             inner_->parameters().costs);
}

} // namespace nodeaware
