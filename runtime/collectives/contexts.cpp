#include "runtime/collectives/contexts.hpp"

#include "runtime/collectives/operation_messages.hpp"
#include "runtime/requests/library.hpp"

namespace nodeaware::contexts {

namespace {

void complete(NonblockingContext& context) {
    if (library->mailboxes == nullptr || context.messages != nullptr) { return; }
    context.messages = OperationMessages::create(context, library->mailboxes,
                                                 library->world.options.batch_timeout);
}

void complete(const Communicator& communicator) {
    if (communicator.context() != nullptr) { complete(*communicator.context()); }
}

} // namespace

Communicator& prepare(MPI_Comm comm) {
    Communicator& communicator = Communicator::with_context(comm, library->world);
    complete(communicator);
    return communicator;
}

std::shared_ptr<NonblockingContext> of_persistent(Communicator& communicator) {
    return communicator.persistent_context(complete);
}

void meeting(MPI_Comm comm) {
    Communicator* const communicator = Communicator::meeting(comm, library->world);
    if (communicator != nullptr) { complete(*communicator); }
}

} // namespace nodeaware::contexts
