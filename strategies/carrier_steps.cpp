#include "strategies/piece_layout.hpp"
#include "strategies/step_lists.hpp"

#include <algorithm>
#include <map>

namespace nodeaware {

namespace {

/// Memory of one carrier on its way through the node, and who waits for it.
struct CarrierSlot {
    uint64_t begin = 0; ///< offset in the arena
    int32_t counter = Step::none;
    uint32_t so_far = 0; ///< what has been done for it
};

class CarrierSteps {
  public:
    CarrierSteps(const Topology& topology, const NodeTraffic& traffic, const Relay& relay, int rank,
                 StepLists& lists)
        : topology_(topology), traffic_(traffic), relay_(relay), rank_(rank), lists_(lists),
          carriers_(carriers_of(topology.nodes(), relay.radix())) {
        for (const PairTraffic& pair : traffic.outgoing) {
            if (relay.carries(pair)) { outgoing_[pair.destination_node] = &pair; }
        }
        for (const PairTraffic& pair : traffic.incoming) {
            if (relay.carries(pair)) { incoming_[pair.source_node] = &pair; }
        }
    }

    void add() {
        for (size_t i = 0; i < carriers_.size(); ++i) {
            const uint64_t bytes = aligned_slot(relay_.capacity(carriers_[i].bundles.size()));
            for (auto* slots : {&leaving_, &entering_}) {
                slots->push_back({lists_.new_slot(bytes), lists_.new_counter(), 0});
            }
        }
        all_entered_ = lists_.new_counter();
        for (size_t i = 0; i < carriers_.size(); ++i) {
            receive(i);
            open(i);
            pass_on(i);
            send(i);
            unpack(i);
        }
    }

  private:
    int nodes() const { return topology_.nodes(); }
    int node_at(int distance) const { return (traffic_.node + distance) % nodes(); }
    int node_before(int distance) const { return (traffic_.node - distance + nodes()) % nodes(); }
    int handler(int node, size_t carrier) const {
        const int local = Relay::handler(carriers_[carrier].digit, topology_.ranks_on(node));
        return topology_.ranks_of(node)[static_cast<size_t>(local)];
    }
    bool is_handler(size_t carrier) const { return handler(traffic_.node, carrier) == rank_; }
    /// Messages that carrier i may need.
    uint32_t parts(size_t i) const {
        const size_t bundles = carriers_[i].bundles.size();
        return relay_.cut(bundles).parts(relay_.capacity(bundles));
    }
    static const PairTraffic* find(const std::map<int, const PairTraffic*>& pairs, int node) {
        const auto found = pairs.find(node);
        return found == pairs.end() ? nullptr : found->second;
    }

    Step step_of(Action action, size_t i, const CarrierSlot& slot) const {
        const size_t bundles = carriers_[i].bundles.size();
        return {.action = action,
                .bytes = relay_.capacity(bundles),
                .arena = slot.begin,
                .table_entries = static_cast<uint32_t>(bundles),
                .signal = slot.counter};
    }

    void receive(size_t i) {
        CarrierSlot& slot = entering_[i];
        slot.so_far = parts(i);
        if (!is_handler(i)) { return; }
        const uint32_t wakes_at = is_passed_on_by_others(i) ? slot.so_far : Step::wakes_nobody;
        for (uint32_t part = 0; part < slot.so_far; ++part) {
            Step step = step_of(Action::receive_carrier, i, slot);
            step.peer = handler(node_before(carriers_[i].hop), i);
            step.segment = part;
            step.wakes_at = wakes_at;
            if (part > 0) { // the first tells how long it is
                step.wait = slot.counter;
                step.needed = 1;
            }
            lists_.receives.push_back(step);
        }
        // Others unpack when all are there: to wake them for each takes longer.
        lists_.passes.push_back({.action = Action::hold,
                                 .wait = slot.counter,
                                 .needed = slot.so_far,
                                 .signal = all_entered_,
                                 .wakes_at = static_cast<uint32_t>(carriers_.size())});
    }

    /// What begins its way here has its place from the beginning.
    void open(size_t i) {
        CarrierSlot& slot = leaving_[i];
        const auto& bundles = carriers_[i].bundles;
        std::vector<CarrierEntry> table(bundles.size());
        uint64_t end = carriers::table_end(bundles.size());
        for (size_t b = 0; b < bundles.size(); ++b) {
            if (bundles[b].before != Bundle::none) { continue; }
            const PairTraffic* const pair = find(outgoing_, node_at(bundles[b].distance));
            if (pair == nullptr) { continue; }
            const uint64_t begin = end;
            for (const Block& block : pair->blocks) {
                pack(*pair, block, end, slot);
                end += block.bytes;
            }
            table[b] = {static_cast<uint32_t>(begin), static_cast<uint32_t>(end - begin),
                        pair->fingerprint()};
        }
        if (!is_handler(i)) { return; }
        Step step = step_of(Action::open, i, slot);
        step.bytes = end;
        step.signal = Step::none;
        step.first_table_entry = static_cast<uint32_t>(lists_.schedule.opened.size());
        lists_.schedule.opened.insert(lists_.schedule.opened.end(), table.begin(), table.end());
        lists_.schedule.prologue.push_back(step);
    }

    void pack(const PairTraffic& pair, const Block& block, uint64_t place, CarrierSlot& slot) {
        slot.so_far += traffic_.packs_late ? 1 : 0;
        if (block.source != rank_) { return; }
        Step step{.action = Action::pack,
                  .item = pair.messages[block.first_message].item,
                  .bytes = block.bytes,
                  .arena = slot.begin + place};
        if (!traffic_.packs_late) {
            lists_.schedule.prologue.push_back(step);
            return;
        }
        step.signal = slot.counter;
        lists_.rest.push_back(step);
    }

    /// Some other rank of this node than the one that receives it.
    bool is_passed_on_by_others(size_t i) const {
        for (size_t next = i + 1; next < carriers_.size(); ++next) {
            const auto& bundles = carriers_[next].bundles;
            const bool passes_on =
                handler(traffic_.node, next) != handler(traffic_.node, i) &&
                std::any_of(bundles.begin(), bundles.end(), [&](const Bundle& bundle) {
                    return bundle.before == static_cast<int32_t>(i);
                });
            if (passes_on) { return true; }
        }
        return false;
    }

    /// One step for each carrier that some of its bundles came with.
    void pass_on(size_t i) {
        CarrierSlot& slot = leaving_[i];
        std::map<int32_t, std::vector<PassedEntry>> by_carrier;
        const auto& bundles = carriers_[i].bundles;
        for (uint32_t b = 0; b < bundles.size(); ++b) {
            if (bundles[b].before == Bundle::none) { continue; }
            by_carrier[bundles[b].before].push_back({bundles[b].entry, b});
        }
        for (const auto& [before, passed] : by_carrier) {
            const CarrierSlot& from = entering_[static_cast<size_t>(before)];
            ++slot.so_far;
            if (!is_handler(i)) { continue; }
            Step step = step_of(Action::pass_on, i, slot);
            step.piece = from.begin;
            step.first_table_entry = static_cast<uint32_t>(lists_.schedule.passed.size());
            step.table_entries = static_cast<uint32_t>(passed.size());
            step.wakes_at = Step::wakes_nobody; // who sends it has done so itself
            step.wait = from.counter;
            step.needed = from.so_far;
            lists_.schedule.passed.insert(lists_.schedule.passed.end(), passed.begin(),
                                          passed.end());
            lists_.passes.push_back(step);
        }
    }

    void send(size_t i) {
        const CarrierSlot& slot = leaving_[i];
        if (!is_handler(i)) { return; }
        for (uint32_t part = 0; part < parts(i); ++part) {
            Step step = step_of(Action::send_carrier, i, slot);
            step.peer = handler(node_at(carriers_[i].hop), i);
            step.segment = part;
            step.signal = Step::none;
            if (slot.so_far > 0) {
                step.wait = slot.counter;
                step.needed = slot.so_far;
            }
            lists_.sends.push_back(step);
        }
    }

    void unpack(size_t i) {
        const auto& bundles = carriers_[i].bundles;
        const Step step{.action = Action::unpack_carried,
                        .piece = entering_[i].begin,
                        .wait = all_entered_,
                        .needed = static_cast<uint32_t>(carriers_.size())};
        Step check = step;
        check.action = Action::check_carried;
        check.first_table_entry = static_cast<uint32_t>(lists_.schedule.passed.size());
        for (uint32_t b = 0; b < bundles.size(); ++b) {
            if (!bundles[b].ends) { continue; }
            const int source = node_before(bundles[b].distance);
            if (const PairTraffic* const pair = find(incoming_, source)) {
                unpack(*pair, step, b);
            } else if (is_handler(i)) {
                const int rank = topology_.ranks_of(source).front();
                lists_.schedule.passed.push_back({b, static_cast<uint32_t>(rank)});
                ++check.table_entries;
            }
        }
        if (check.table_entries > 0) { lists_.rest.push_back(check); }
    }

    void unpack(const PairTraffic& pair, Step step, uint32_t entry) {
        step.peer = topology_.ranks_of(pair.source_node).front();
        step.fingerprint = pair.fingerprint();
        step.segment = entry;
        for (const Block& block : pair.blocks) {
            for (uint32_t m = 0; m < block.messages; ++m) {
                const Message& message = pair.messages[block.first_message + m];
                if (message.destination != rank_) { continue; }
                step.item = message.item;
                step.bytes = block.bytes;
                lists_.rest.push_back(step);
            }
            step.within += block.bytes;
        }
    }

    const Topology& topology_;
    const NodeTraffic& traffic_;
    const Relay& relay_;
    const int rank_;
    StepLists& lists_;
    const std::vector<Carrier> carriers_;
    std::vector<CarrierSlot> leaving_;
    std::vector<CarrierSlot> entering_;
    int32_t all_entered_ = Step::none;
    std::map<int, const PairTraffic*> outgoing_; ///< what is relayed, by the node at the other end
    std::map<int, const PairTraffic*> incoming_;
};

} // namespace

void add_carriers(const Topology& topology, const NodeTraffic& traffic, const Relay& relay,
                  int rank, StepLists& lists) {
    lists.schedule.cut = relay.cut(0);
    CarrierSteps(topology, traffic, relay, rank, lists).add();
}

} // namespace nodeaware
