#include "tools/fit/protocol_advice.hpp"

#include <algorithm>
#include <cstdio>

namespace nodeaware::tuning {

namespace {

std::string setting_of(const std::string& mpi) {
    if (mpi.starts_with("Open MPI")) {
        return "btl_tcp_eager_limit or that of another BTL; with UCX UCX_RNDV_THRESH";
    }
    if (mpi.starts_with("MPICH")) {
        return "MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE; with UCX UCX_RNDV_THRESH";
    }
    return "see its documentation; with UCX UCX_RNDV_THRESH";
}

bool is_doubtful(const FitResult& result) {
    return std::any_of(result.doubtful.begin(), result.doubtful.end(), [](const std::string& key) {
        return key.starts_with("paths.host.network.eager") ||
               key.starts_with("paths.host.network.rendezvous");
    });
}

} // namespace

std::string eager_advice(const FitResult& result) {
    constexpr double most_raised = 16;
    const Path& path = result.table.path(Memory::host, Locality::network);
    const auto& eager = path.by_protocol[static_cast<size_t>(Protocol::eager)];
    const auto& rendezvous = path.by_protocol[static_cast<size_t>(Protocol::rendezvous)];
    if (!eager || !rendezvous || path.eager_limit <= 0 || is_doubtful(result)) { return ""; }
    const double now = path.eager_limit;
    if (postal(*rendezvous, now) < dear_rendezvous * postal(*eager, now)) { return ""; }
    double limit = now;
    while (limit < most_raised * now &&
           postal(*eager, 2 * limit) < postal(*rendezvous, 2 * limit)) {
        limit *= 2;
    }
    if (limit <= now) { return ""; }
    char text[320];
    std::snprintf(text, sizeof text,
                  "messages between nodes of just over %.0f bytes take %.1f us by rendezvous, and "
                  "would take %.1f us if sent eagerly: try an eager limit of %.0f bytes (%s)",
                  now, 1e6 * postal(*rendezvous, now), 1e6 * postal(*eager, now), limit,
                  setting_of(result.table.fingerprint.mpi).c_str());
    return text;
}

} // namespace nodeaware::tuning
