#include "runtime/collectives/contexts.hpp"

#include "runtime/collectives/operation_messages.hpp"
#include "runtime/requests/library.hpp"

#include <vector>

namespace nodeaware::contexts {

namespace {

void complete(const Communicator& communicator) {
    const auto& context = communicator.context();
    if (context == nullptr || library->mailboxes == nullptr || context->messages != nullptr ||
        library->world.threads_at_once) {
        return;
    }
    std::vector<NonblockingContext*> all = {context.get()};
    for (const auto& persistent : communicator.persistent_contexts()) {
        all.push_back(persistent.get());
    }
    OperationMessages::create(all, library->mailboxes, library->world.options.batch_timeout);
}

} // namespace

Communicator& prepare(MPI_Comm comm) {
    Communicator& communicator = Communicator::with_context(comm, library->world);
    complete(communicator);
    return communicator;
}

void meeting(MPI_Comm comm) {
    Communicator* const communicator = Communicator::meeting(comm, library->world);
    if (communicator != nullptr) { complete(*communicator); }
}

} // namespace nodeaware::contexts
