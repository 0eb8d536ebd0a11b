#include "tools/nodeaware/trace/exchanges.hpp"
#include "tools/nodeaware/trace/forecast.hpp"
#include "tools/nodeaware/trace/traffic.hpp"

namespace nodeaware::tool {

MessagesForecast forecast_of_messages(const Trace& trace, const std::vector<int>& nodes,
                                      const Parameters& parameters) {
    const std::vector<RepeatedMessages> kinds = repeated_messages(trace);
    MessagesForecast result;
    for (size_t i = 0; i < kinds.size(); ++i) {
        TraceTraffic traffic(nodes);
        for (const RepeatedMessages::Message& message : kinds[i].messages) {
            traffic.add(message.from, message.to, message.bytes, false);
        }
        if (!traffic.crosses_nodes()) { continue; }
        if (i >= TraceForecast::most_kinds) {
            ++result.left_out;
            continue;
        }
        traffic.gather();
        const double often = kinds[i].times() * part_of_ranks(kinds[i].members, nodes.size());
        result.native += often * traffic.predicted(nullptr, parameters);
        result.gathered +=
            often * traffic.predicted_in_containers(containers::Kind::point_to_point, parameters);
    }
    return result;
}

} // namespace nodeaware::tool
