#include "runtime/collectives/operation_messages.hpp"

#include "runtime/job/log.hpp"
#include "runtime/progress/activity.hpp"
#include "runtime/progress/clock.hpp"
#include "runtime/requests/library.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace nodeaware {

namespace {

/// Names that this rank knows of. Those who share a new one take a number that is new to all of
/// them.
int names = 0;

Mailboxes::Name name_of(const std::vector<int>& members, int number) {
    constexpr uint64_t operations = 0x6f70657261746573; // not those of point-to-point messages
    uint64_t name = mix(operations, static_cast<uint64_t>(number));
    for (const int member : members) { name = mix(name, static_cast<uint64_t>(member)); }
    return name;
}

} // namespace

void OperationMessages::create(std::span<NonblockingContext* const> contexts,
                               const std::shared_ptr<Mailboxes>& mailboxes, double batch_timeout) {
    std::vector<std::shared_ptr<OperationMessages>> made;
    try {
        for (const NonblockingContext* const context : contexts) {
            made.push_back(std::shared_ptr<OperationMessages>(new OperationMessages(
                context->shared_inner(), context->parameters(), mailboxes, batch_timeout)));
        }
    } catch (const std::bad_alloc&) { made.clear(); }
    const std::array<int, 2> mine = {made.empty() ? 0 : 1, -names};
    std::array<int, 2> least{};
    MPI_CALL(Allreduce, mine.data(), least.data(), 2, MPI_INT, MPI_MIN,
             contexts.front()->inner().comm());
    names = -least[1];
    for (size_t i = 0; i < contexts.size() && least[0] != 0; ++i) {
        // Nothing is taken from a mailbox before that.
        made[i]->name_ = name_of(made[i]->members_, ++names);
        mailboxes->add(made[i]->name_, *made[i]);
        contexts[i]->messages = std::move(made[i]);
    }
}

OperationMessages::OperationMessages(std::shared_ptr<InnerCommunicator> inner,
                                     const Parameters& parameters,
                                     std::shared_ptr<Mailboxes> mailboxes, double batch_timeout)
    : inner_(std::move(inner)), parameters_(parameters), mailboxes_(std::move(mailboxes)),
      batch_timeout_(batch_timeout), members_(inner_->members()), rank_(inner_->rank()) {}

OperationMessages::~OperationMessages() {
    mailboxes_->remove(name_);
    if (!is_open_) { return; }
    // This may be inside of MPI, or of the mailboxes.
    if (unsent_ > 0) { mailboxes_->look_after_unsent(); }
    mailboxes_->takes_part(-1);
    mailboxes_->expect(-1);
    activity.pending_work.fetch_sub(1, std::memory_order_relaxed);
    activity.requests.fetch_sub(1, std::memory_order_relaxed);
}

uint64_t OperationMessages::most_bytes(int source) const {
    const uint64_t most = mailboxes_->most_bytes() - sizeof(Header) - sizeof(uint64_t);
    return std::min(most, gathered::limit(inner_->topology(), source, parameters_));
}

/// As if every rank of this node sent as much to each node.
double OperationMessages::most_gain(const Exchange& exchange) const {
    const Topology& topology = inner_->topology();
    const int node = topology.node_of(rank_);
    std::vector<int> messages(static_cast<size_t>(topology.nodes()));
    int most = 0;
    for (const Outgoing& message : exchange.traffic.outgoing) {
        const int other = topology.node_of(message.peer);
        if (other != node) { most = std::max(most, ++messages[static_cast<size_t>(other)]); }
    }
    return most * topology.ranks_on(node);
}

void OperationMessages::begin(uint64_t operation, const Exchange& exchange) {
    next_ = operation + 1;
    if (!is_open_) {
        is_open_ = true;
        mailboxes_->takes_part(1);
        mailboxes_->expect(1);
        activity.pending_work.fetch_add(1, std::memory_order_relaxed);
        // Messages are to leave also while this rank waits for requests that are MPI's own.
        activity.requests.fetch_add(1, std::memory_order_relaxed);
    }
    operations_.try_emplace(operation);
    mailboxes_->look_for_cells();
    GatheringFeedback& feedback = feedback_[static_cast<size_t>(exchange.operation)];
    const Choice& choice = library->world.options.choice(exchange.operation);
    const bool is_better = feedback.begin(now(), most_gain(exchange));
    gathers_ = is_better || choice.kind == Choice::Kind::fixed;
}

OperationMessages::Arrived OperationMessages::take(uint64_t operation, int source,
                                                   uint32_t number) {
    const auto messages = operations_.find(operation);
    if (messages == operations_.end()) { return {}; }
    const auto found = messages->second.find({source, number});
    return found == messages->second.end() ? Arrived{} : std::exchange(found->second, {});
}

/// What has come twice is dropped: it is here, or has been taken, or its operation is over.
void OperationMessages::take(const std::shared_ptr<const std::byte>& bytes, uint64_t size) {
    Header header;
    if (size < sizeof header) { return; }
    std::memcpy(&header, bytes.get(), sizeof header);
    if (header.operation < next_ && operations_.count(header.operation) == 0) { return; }
    operations_[header.operation].try_emplace(
        {header.source, header.number},
        Arrived{{bytes, bytes.get() + sizeof header}, header.bytes});
}

} // namespace nodeaware
