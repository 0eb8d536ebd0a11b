#include "runtime/memory/copied_together.hpp"

#include <new>

namespace nodeaware {

namespace {

AreasOnHost small_of(const std::vector<UserMemory>& memories) {
    try {
        return {memories, AreasOnHost::small};
    } catch (const std::bad_alloc&) { return {}; } // one by one then
}

} // namespace

CopiedTogether::CopiedTogether(std::vector<UserMemory>& sent, int* error) : sent_(small_of(sent)) {
    try {
        sent_.load();
    } catch (const MpiError& failure) { *error = failure.code; }
    sent_.replace(sent);
}

CopiedTogether::CopiedTogether(Exchange& exchange)
    : CopiedTogether(exchange.outgoing, &exchange.error) {
    received_ = small_of(exchange.incoming);
    received_.replace(exchange.incoming);
}

} // namespace nodeaware
