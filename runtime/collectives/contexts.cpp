#include "runtime/collectives/contexts.hpp"

#include "runtime/collectives/operation_messages.hpp"
#include "runtime/requests/library.hpp"

namespace nodeaware::contexts {

namespace {

void complete(Communicator& communicator) {
    const auto& context = communicator.context();
    if (context == nullptr || library->mailboxes == nullptr || context->messages != nullptr) {
        return;
    }
    context->messages = OperationMessages::create(*context, library->mailboxes,
                                                  library->world.options.batch_timeout);
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
