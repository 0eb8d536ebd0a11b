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
        result.native += kinds[i].times() * traffic.predicted(nullptr, parameters);
        result.gathered += kinds[i].times() * traffic.predicted_in_containers(
                                                  containers::Kind::point_to_point, parameters);
    }
    return result;
}

} // namespace nodeaware::tool
