#include "tools/nodeaware/replay/patterns.hpp"

#include "tools/nodeaware/trace/analysis.hpp"
#include "tools/nodeaware/trace/traffic.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace nodeaware::tool::replay {

namespace {

constexpr const char* on_one_node = "no message crosses nodes";

bool is_blocking_exchange(const std::string& operation) {
    return operation.starts_with("alltoall") || operation.starts_with("neighbor");
}

bool has_one_size(const std::vector<Message>& messages) {
    return std::all_of(messages.begin(), messages.end(), [&](const Message& message) {
        return message.bytes == messages.front().bytes;
    });
}

/// By sender and receiver. Of an exchange several to the same rank are one, which travels alike.
void sort(std::vector<Message>& messages, bool joins) {
    const auto is_before = [](const Message& a, const Message& b) {
        return std::pair(a.from, a.to) < std::pair(b.from, b.to);
    };
    std::stable_sort(messages.begin(), messages.end(), is_before);
    if (!joins) { return; }
    std::vector<Message> joined;
    for (const Message& message : messages) {
        if (!joined.empty() && !is_before(joined.back(), message)) {
            joined.back().bytes += message.bytes;
        } else {
            joined.push_back(message);
        }
    }
    messages = std::move(joined);
}

/// Empty: there is none.
std::string obstacle_of(const Pattern& pattern, const Limits& limits) {
    if (pattern.messages.size() > limits.messages) {
        return "it has more than " + std::to_string(limits.messages) + " messages";
    }
    std::vector<uint64_t> bytes(pattern.members.size(), 0);
    for (const Message& message : pattern.messages) {
        bytes[static_cast<size_t>(message.from)] += message.bytes;
        bytes[static_cast<size_t>(message.to)] += message.bytes;
    }
    const auto most = std::max_element(bytes.begin(), bytes.end());
    if (most == bytes.end() || *most <= limits.bytes) { return ""; }
    const auto rank = static_cast<size_t>(most - bytes.begin());
    return "rank " + std::to_string(pattern.members[rank]) + " would need " +
           std::to_string(*most) + " bytes of memory, more than " + std::to_string(limits.bytes);
}

} // namespace

Patterns::Patterns(const Trace& trace, const Limits& limits)
    : trace_(trace), limits_(limits), exchanges_(collective_exchanges(trace)),
      repeated_(repeated_messages(trace)) {
    for (const TracedExchange& exchange : exchanges_) { add(exchange); }
    for (const RepeatedMessages& repeated : repeated_) { add(repeated); }
    share_out_seconds();
}

void Patterns::add(const TracedExchange& exchange) {
    const auto number = static_cast<int>(patterns_.size()) + 1;
    const std::string function = exchange.function();
    Pattern pattern{number, function, exchange.members(), exchange.calls(), exchange.seconds(), {},
                    {},     {}};
    bool crosses = false;
    const auto node_of = [&](int rank) {
        return trace_.nodes[static_cast<size_t>(pattern.members[static_cast<size_t>(rank)])];
    };
    exchange.visit([&](int from, int to, uint64_t bytes) {
        crosses = crosses || (bytes > 0 && node_of(from) != node_of(to));
    });
    if (!crosses) {
        pattern.obstacle = on_one_node;
    } else if (function.empty()) {
        pattern.function = "exchange";
        pattern.obstacle = "its ranks call different functions";
    } else if (operation_of(function, true, true).empty()) {
        pattern.obstacle = "no such operation is known";
    }
    patterns_.push_back(std::move(pattern));
}

void Patterns::add(const RepeatedMessages& repeated) {
    const auto number = static_cast<int>(patterns_.size()) + 1;
    Pattern pattern{number, of_messages, repeated.members, repeated.times(), 0, {}, "p2p", {}};
    const bool crosses = std::any_of(repeated.messages.begin(), repeated.messages.end(),
                                     [this](const auto& message) {
                                         return trace_.nodes[static_cast<size_t>(message.from)] !=
                                                trace_.nodes[static_cast<size_t>(message.to)];
                                     });
    const bool is_outside = std::any_of(pattern.members.begin(), pattern.members.end(),
                                        [](int member) { return member < 0; });
    if (!crosses) {
        pattern.obstacle = on_one_node;
    } else if (is_outside) {
        pattern.obstacle = "ranks from outside take part";
    }
    patterns_.push_back(std::move(pattern));
}

/// A trace does not have the time of single messages: that of all, with waiting, is shared out by
/// how many there are.
void Patterns::share_out_seconds() {
    double seconds = 0;
    for (const RankTrace& rank : trace_.ranks) {
        for (const TracedSite& site : rank.sites) {
            if (purpose_of(site.function) == Purpose::message) { seconds += site.seconds; }
        }
    }
    seconds /= static_cast<double>(std::max<size_t>(trace_.ranks.size(), 1));
    double all = 0;
    for (const RepeatedMessages& repeated : repeated_) {
        all += static_cast<double>(repeated.count());
    }
    for (size_t i = 0; i < repeated_.size(); ++i) {
        patterns_[exchanges_.size() + i].seconds =
            seconds * static_cast<double>(repeated_[i].count()) / all;
    }
}

Pattern Patterns::complete(int number) const {
    const auto index = static_cast<size_t>(number - 1);
    Pattern pattern = patterns_.at(index);
    if (!pattern.obstacle.empty()) { return pattern; }
    if (index < exchanges_.size()) {
        exchanges_[index].visit([&](int from, int to, uint64_t bytes) {
            const bool has_room = pattern.messages.size() <= limits_.messages;
            if (bytes > 0 && has_room) { pattern.messages.push_back({from, to, bytes}); }
        });
        sort(pattern.messages, true);
        const size_t ranks = pattern.members.size();
        pattern.operation = operation_of(pattern.function, has_one_size(pattern.messages),
                                         pattern.messages.size() == ranks * ranks);
    } else {
        std::vector<int> rank_of(trace_.nodes.size(), 0);
        for (size_t rank = 0; rank < pattern.members.size(); ++rank) {
            rank_of[static_cast<size_t>(pattern.members[rank])] = static_cast<int>(rank);
        }
        for (const auto& message : repeated_[index - exchanges_.size()].messages) {
            pattern.messages.push_back({rank_of[static_cast<size_t>(message.from)],
                                        rank_of[static_cast<size_t>(message.to)], message.bytes});
        }
        sort(pattern.messages, false);
    }
    pattern.obstacle = obstacle_of(pattern, limits_);
    if (!pattern.obstacle.empty()) { pattern.messages = {}; }
    return pattern;
}

std::vector<Pattern> Patterns::most_important(size_t count) const {
    std::vector<const Pattern*> order;
    for (const Pattern& pattern : patterns_) {
        if (pattern.obstacle.empty()) { order.push_back(&pattern); }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Pattern* a, const Pattern* b) { return a->seconds > b->seconds; });
    std::vector<Pattern> chosen;
    for (const Pattern* pattern : order) {
        if (chosen.size() == count) { break; }
        Pattern whole = complete(pattern->number);
        if (whole.obstacle.empty()) { chosen.push_back(std::move(whole)); }
    }
    return chosen;
}

size_t Patterns::between_nodes() const {
    return static_cast<size_t>(
        std::count_if(patterns_.begin(), patterns_.end(),
                      [](const Pattern& pattern) { return pattern.obstacle != on_one_node; }));
}

std::string operation_of(const std::string& function, bool has_one_size, bool is_full) {
    std::string name = function.substr(function.find('_') + 1);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (name.ends_with("_c")) { name.resize(name.size() - 2); }
    constexpr std::string_view persistent = "_init";
    if (name.ends_with(persistent)) {
        name = "i" + name.substr(0, name.size() - persistent.size());
    }
    const std::string kind = name.starts_with("i") ? name.substr(1) : name;
    if (!kind.starts_with("alltoall") && !kind.starts_with("neighbor_all")) { return ""; }
    const bool needs_one_size =
        kind == "alltoall" || kind == "neighbor_alltoall" || kind == "neighbor_allgather";
    const bool fits = has_one_size && (is_full || kind != "alltoall");
    return needs_one_size && !fits ? name + "v" : name;
}

std::vector<Prediction> predict(const Pattern& pattern, const std::vector<int>& nodes,
                                const Parameters& parameters) {
    std::vector<int> of_members;
    for (const int member : pattern.members) {
        of_members.push_back(nodes[static_cast<size_t>(member)]);
    }
    TraceTraffic traffic(of_members);
    const bool is_shared = pattern.operation.find("allgather") != std::string::npos;
    for (const Message& message : pattern.messages) {
        traffic.add(message.from, message.to, message.bytes, is_shared);
    }
    traffic.gather();
    std::vector<Prediction> predictions = {{"native", traffic.predicted(nullptr, parameters)}};
    if (!is_blocking_exchange(pattern.operation)) {
        const auto kind = pattern.operation == "p2p" ? containers::Kind::point_to_point
                                                     : containers::Kind::nonblocking;
        predictions.push_back({"gathered", traffic.predicted_in_containers(kind, parameters)});
        return predictions;
    }
    for (const Strategy& strategy : strategies()) {
        predictions.push_back(
            {std::string(strategy.name), traffic.predicted(&strategy, parameters)});
    }
    return predictions;
}

std::string title_of(const Pattern& pattern, size_t ranks) {
    constexpr size_t most = 6;
    const std::string begin = pattern.function + ", ";
    if (pattern.members.size() == ranks) {
        return begin + "all " + std::to_string(ranks) + " ranks";
    }
    std::string text = begin + "ranks";
    for (size_t i = 0; i < std::min(pattern.members.size(), most); ++i) {
        text += (i == 0 ? " " : ", ") + std::to_string(pattern.members[i]);
    }
    if (pattern.members.size() > most) {
        text += ", ... (" + std::to_string(pattern.members.size()) + ")";
    }
    return text;
}

} // namespace nodeaware::tool::replay
