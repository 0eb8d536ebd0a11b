#include "tools/simulate/platform.hpp"

#include "tools/simulate/virtual_time.hpp"

#include <algorithm>
#include <numeric>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <smpi/smpi.h>
#include <string>

namespace nodeaware::simulation {

namespace {

namespace sg = simgrid::s4u;
using tuning::Locality;

/// SMPI counts an envelope to the bytes that travel.
constexpr double envelope = 16;
/// Travel times are given to SimGrid as multiples of those of the links.
constexpr double link_latency = 1e-6;
constexpr double unlimited_bandwidth = 1e18;
constexpr double shortest_travel = 1e-12;

/// Numbered with the hosts.
int rank_of(const sg::Host* host) { return *static_cast<const int*>(host->get_data<int>()); }

void configure(int eager_limit) {
    sg::Engine::set_config("network/crosstraffic", false);
    sg::Engine::set_config("network/TCP-gamma", 1e30);
    sg::Engine::set_config("network/weight-S", 0.0);
    sg::Engine::set_config("smpi/async-small-thresh", eager_limit + 1);
    sg::Engine::set_config("smpi/send-is-detached-thresh", eager_limit + 1);
    for (const char* const cost : {"smpi/iprobe", "smpi/test"}) {
        sg::Engine::set_config(cost, 0.0); // who polls waits in virtual_time::pause()
    }
    sg::Engine::set_config("smpi/wtime", 0.0);
    sg::Engine::set_config("smpi/grow-injected-times", false);
    sg::Engine::set_config("smpi/simulate-computation", false);
    sg::Engine::set_config("smpi/errors-are-fatal", false);
}

} // namespace

Platform::Platform(sg::Engine& engine, const tuning::ModelTable& table, const Shape& shape,
                   const MessageShares& shares)
    : table_(table), shape_(shape), shares_(shares),
      ranks_per_socket_(table.fingerprint.processes_per_socket > 0
                            ? table.fingerprint.processes_per_socket
                            : std::max(1, shape.ranks_per_node / 2)),
      sends_until_(static_cast<size_t>(shape.nodes)),
      receives_until_(static_cast<size_t>(shape.nodes)),
      messages_(static_cast<size_t>(shape.nodes * shape.ranks_per_node)) {
    for (const Locality locality : tuning::localities) {
        const tuning::Path& path = path_of(table_, tuning::Memory::host, locality);
        eager_limit_ = std::max(eager_limit_, path.eager_limit);
    }
    configure(static_cast<int>(eager_limit_));
    make_hosts();
    auto* const model = engine.get_netzone_root()->get_network_model();
    model->set_lat_factor_cb([this](double size, const sg::Host* from, const sg::Host* to,
                                    const std::vector<sg::Link*>& links, const auto&) {
        const double links_take = link_latency * static_cast<double>(links.size());
        const double bytes = std::max(0.0, size - envelope);
        return travel(bytes, rank_of(from), rank_of(to)) / links_take;
    });
    model->set_bw_factor_cb(
        [](double, const sg::Host*, const sg::Host*, const auto&, const auto&) { return 1.0; });
    const auto send = [this](size_t size, const sg::Host* from, const sg::Host* to) {
        return sending(static_cast<double>(size), rank_of(from), rank_of(to));
    };
    smpi_register_op_cost_callback(SmpiOperation::SEND, send);
    smpi_register_op_cost_callback(SmpiOperation::ISEND, send);
    smpi_register_op_cost_callback(
        SmpiOperation::RECV, [this](size_t size, const sg::Host* from, const sg::Host* to) {
            return receiving(static_cast<double>(size), rank_of(from), rank_of(to));
        });
}

/// All traffic is in the travel times: links are there because SimGrid wants some, and carry
/// anything.
void Platform::make_hosts() {
    sg::NetZone* const zone = sg::create_star_zone("machine");
    const int ranks = shape_.nodes * shape_.ranks_per_node;
    for (int rank = 0; rank < ranks; ++rank) {
        const std::string name = "rank-" + std::to_string(rank);
        sg::Host* const host = zone->create_host(name, 1e9);
        host->set_data(new int(rank));
        host->seal();
        sg::Link* const link = zone->create_link(name, unlimited_bandwidth);
        link->set_latency(link_latency);
        link->set_sharing_policy(sg::Link::SharingPolicy::FATPIPE);
        link->seal();
        const std::vector<sg::LinkInRoute> links = {sg::LinkInRoute(link)};
        zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, links, true);
        zone->add_route(host->get_netpoint(), host->get_netpoint(), nullptr, nullptr, links, false);
        hosts_.push_back(host);
    }
    zone->seal();
}

std::vector<int> Platform::nodes() const {
    std::vector<int> nodes(hosts_.size());
    for (size_t i = 0; i < nodes.size(); ++i) { nodes[i] = node_of(static_cast<int>(i)); }
    return nodes;
}

const tuning::Path& Platform::path(int from, int to) const {
    const auto socket_of = [&](int rank) {
        return rank % shape_.ranks_per_node / ranks_per_socket_;
    };
    Locality locality = Locality::network;
    if (node_of(from) == node_of(to)) {
        locality = socket_of(from) == socket_of(to) ? Locality::socket : Locality::node;
    }
    return path_of(table_, tuning::Memory::host, locality);
}

double Platform::sending(double bytes, int from, int to) const {
    return shares_.sender * path(from, to).postal_of(bytes).alpha;
}

double Platform::receiving(double bytes, int from, int to) const {
    return shares_.receiver * path(from, to).postal_of(bytes).alpha;
}

/// Seconds until both nodes have got through what they have, at R_N and a message in each gap.
double Platform::backlog(double bytes, int from, int to, double now) {
    const tuning::Path& way = path(from, to);
    const auto protocol = static_cast<size_t>(way.protocol_of(bytes));
    const double per_byte =
        table_.inverse_injection_rate[static_cast<size_t>(tuning::Memory::host)];
    const double takes = std::max(bytes * per_byte, way.gaps[protocol].value_or(0));
    double& sends = sends_until_[static_cast<size_t>(node_of(from))];
    double& receives = receives_until_[static_cast<size_t>(node_of(to))];
    sends = std::max(now, sends) + takes;
    receives = std::max(now, receives) + takes;
    return std::max(sends, receives) - now;
}

double Platform::travel(double bytes, int from, int to) {
    const double now = sg::Engine::get_clock();
    const tuning::Postal& postal = path(from, to).postal_of(bytes);
    const bool is_eager = bytes <= eager_limit_;
    // SMPI lets nobody pay for receiving what it has not buffered.
    const double busy = shares_.sender + (is_eager ? shares_.receiver : 0);
    double transfer = postal.beta * bytes;
    if (node_of(from) != node_of(to)) {
        transfer = std::max(transfer, backlog(bytes, from, to, now));
        ++messages_[static_cast<size_t>(from)];
        bytes_ += static_cast<uint64_t>(bytes);
    }
    const double takes = std::max(shortest_travel, (1 - busy) * postal.alpha + transfer);
    virtual_time::arrives(to, now + takes);
    if (!is_eager) { virtual_time::arrives(from, now + takes); }
    return takes;
}

Platform::Traffic Platform::traffic() const {
    Traffic all;
    all.bytes = bytes_;
    for (int node = 0; node < shape_.nodes; ++node) {
        const auto begin = messages_.begin() + static_cast<long>(node) * shape_.ranks_per_node;
        const auto end = begin + shape_.ranks_per_node;
        const uint64_t sum = std::accumulate(begin, end, uint64_t{0});
        all.messages += sum;
        all.most_messages_of_a_node = std::max(all.most_messages_of_a_node, sum);
        all.most_messages_of_a_rank =
            std::max(all.most_messages_of_a_rank, *std::max_element(begin, end));
    }
    return all;
}

void Platform::reset_traffic() {
    std::fill(messages_.begin(), messages_.end(), 0);
    bytes_ = 0;
}

} // namespace nodeaware::simulation
