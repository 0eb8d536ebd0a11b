#include "strategies/batches.hpp"

#include "strategies/node_load.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace nodeaware::batches {

namespace {

/// What the ranks of a node spend on one repetition of a batch.
class BatchCost {
  public:
    BatchCost(size_t ranks, const Costs& costs)
        : costs_(costs), load_(ranks, costs), copied_(ranks) {}

    /// A message that any of `senders` sends.
    void add_message(uint64_t bytes, const std::vector<int>& senders) {
        const double share = 1.0 / static_cast<double>(senders.size());
        for (const int local : senders) { load_.add_message(local, bytes, share); }
    }
    void add_copies(int local, uint64_t bytes, int copies) {
        copied_[static_cast<size_t>(local)] += static_cast<double>(bytes) * copies;
    }

    double seconds() const {
        const double most = copied_.empty() ? 0 : *std::max_element(copied_.begin(), copied_.end());
        return load_.latency() + load_.transfer() + most * costs_.copy_per_byte;
    }

  private:
    const Costs& costs_;
    NodeLoad load_;
    std::vector<double> copied_; ///< bytes, by rank of the node
};

/// A batch that is in step on all ranks repeats as often on each; what is not is no reason to
/// gather, so the rank that repeats it most counts.
uint64_t repetitions_of(const NodeBatches& batches, size_t k) {
    uint64_t most = 0;
    for (const auto& of_rank : batches) {
        if (k < of_rank.size()) { most = std::max(most, of_rank[k].repetitions); }
    }
    return most;
}

size_t batch_count(const NodeBatches& batches) {
    size_t count = 0;
    for (const auto& of_rank : batches) { count = std::max(count, of_rank.size()); }
    return count;
}

/// Calls `visit(local, stream)` for all streams of batch k of the node.
template <class Visit> void for_each_stream(const NodeBatches& batches, size_t k, Visit visit) {
    for (size_t local = 0; local < batches.size(); ++local) {
        if (k >= batches[local].size()) { continue; }
        for (const Stream& stream : batches[local][k].streams) {
            visit(static_cast<int>(local), stream);
        }
    }
}

double gathered_seconds(const NodeBatches& batches, size_t k,
                        const std::vector<Container>& containers, const Costs& costs) {
    BatchCost load(batches.size(), costs);
    std::set<std::pair<int, Stream>> gathered;
    for (const Container& container : containers) {
        if (container.batch != k) { continue; }
        uint64_t bytes = 0;
        std::vector<int> senders;
        for (const auto& [local, stream] : container.members) {
            bytes += stream.bytes;
            senders.push_back(local);
            gathered.insert({local, stream});
            load.add_copies(local, stream.bytes, 3);
        }
        load.add_message(bytes, senders);
    }
    for_each_stream(batches, k, [&](int local, const Stream& stream) {
        if (gathered.count({local, stream}) > 0) { return; }
        load.add_message(stream.bytes, {local});
        if (stream.bytes <= bytes_worth_a_copy(costs)) {
            load.add_copies(local, stream.bytes, 2);
        } else {
            load.add_message(envelope_bytes, {local});
        }
    });
    return load.seconds() + (gathered.empty() ? 0 : costs.flag);
}

} // namespace

std::vector<Container> containers_of(const NodeBatches& batches, const Topology& topology,
                                     uint64_t most_bytes) {
    std::vector<Container> containers;
    for (size_t k = 0; k < batch_count(batches); ++k) {
        std::map<int, std::vector<Container::Member>> by_node;
        for_each_stream(batches, k, [&](int local, const Stream& stream) {
            if (stream.bytes > most_bytes) { return; }
            by_node[topology.node_of(stream.destination)].push_back({local, stream});
        });
        for (auto& [node, members] : by_node) {
            if (members.size() < 2) { continue; }
            containers.push_back({k, node, std::move(members)});
        }
    }
    return containers;
}

uint64_t bytes_worth_a_copy(const Costs& costs) {
    constexpr uint64_t most = uint64_t{1} << 18;
    const uint64_t eager = std::max(costs.protocols[0].limit, costs.protocols[1].limit);
    const double envelope = costs.of(envelope_bytes).latency / (2 * costs.copy_per_byte);
    const bool is_copied_at_once = envelope >= static_cast<double>(most);
    const uint64_t like_envelope = is_copied_at_once ? most : static_cast<uint64_t>(envelope);
    return std::min(most, std::max(eager, like_envelope));
}

uint64_t saved_messages(const std::vector<Container>& containers) {
    uint64_t saved = 0;
    for (const Container& container : containers) { saved += container.members.size() - 1; }
    return saved;
}

Forecast forecast(const NodeBatches& batches, const std::vector<Container>& containers,
                  const Costs& costs) {
    Forecast sum;
    for (size_t k = 0; k < batch_count(batches); ++k) {
        BatchCost by_mpi(batches.size(), costs);
        for_each_stream(batches, k, [&](int local, const Stream& stream) {
            by_mpi.add_message(stream.bytes, {local});
        });
        const auto times = static_cast<double>(repetitions_of(batches, k));
        sum.by_mpi += times * by_mpi.seconds();
        sum.gathered += times * gathered_seconds(batches, k, containers, costs);
    }
    return sum;
}

} // namespace nodeaware::batches
