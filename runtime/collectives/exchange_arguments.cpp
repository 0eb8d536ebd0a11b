#include "runtime/collectives/exchange_arguments.hpp"

namespace nodeaware {

namespace {

void list_all(const ExchangeArguments& arguments, int size, Exchange& exchange) {
    BlockReader received(arguments.received);
    BlockReader sent(exchange.in_place ? arguments.received : arguments.sent);
    for (int peer = 0; peer < size; ++peer) { add_incoming(exchange, peer, received, peer); }
    for (int peer = 0; peer < size; ++peer) { add_outgoing(exchange, peer, sent, peer); }
}

void list_neighbors(const ExchangeArguments& arguments, const Neighbors& neighbors,
                    Exchange& exchange) {
    BlockReader sent(arguments.sent);
    BlockReader received(arguments.received);
    for (size_t i = 0; i < neighbors.destinations.size(); ++i) {
        add_outgoing(exchange, neighbors.destinations[i], sent, static_cast<int>(i));
    }
    for (const int i : neighbors.receive_order) {
        add_incoming(exchange, neighbors.sources[static_cast<size_t>(i)], received, i);
    }
}

} // namespace

uint64_t ExchangeArguments::list(MPI_Comm comm, Communicator& communicator,
                                 Exchange& exchange) const {
    exchange.sharing = sent.kind == Blocks::Kind::one ? Sharing::both : Sharing::sender;
    exchange.in_place = is_in_place();
    if (is_with_neighbors) {
        list_neighbors(*this, communicator.neighbors(comm, exchange.operation), exchange);
        return 0;
    }
    list_all(*this, communicator.size(), exchange);
    const bool is_uniform =
        received.kind == Blocks::Kind::uniform && !exchange.traffic.incoming.empty();
    return is_uniform ? exchange.traffic.incoming.front().bytes : 0;
}

} // namespace nodeaware
