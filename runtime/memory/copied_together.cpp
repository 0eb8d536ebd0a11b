#include "runtime/memory/copied_together.hpp"

namespace nodeaware {

CopiedTogether::CopiedTogether(std::vector<UserMemory>& sent, int* error)
    : sent_(sent, AreasOnHost::small) {
    try {
        sent_.load();
    } catch (const MpiError& failure) { *error = failure.code; }
    sent_.replace(sent);
}

CopiedTogether::CopiedTogether(Exchange& exchange)
    : CopiedTogether(exchange.outgoing, &exchange.error) {
    received_ = AreasOnHost(exchange.incoming, AreasOnHost::small);
    received_.replace(exchange.incoming);
}

} // namespace nodeaware
