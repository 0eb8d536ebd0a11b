#include "runtime/collectives/contexts.hpp"

#include "runtime/collectives/operation_messages.hpp"
#include "runtime/requests/library.hpp"

namespace nodeaware::contexts {

namespace {

void complete(NonblockingContext* context) {
    if (context == nullptr || library->mailboxes == nullptr || context->messages != nullptr) {
        return;
    }
    context->messages = OperationMessages::create(*context, library->mailboxes,
                                                  library->world.options.batch_timeout);
}

} // namespace

Communicator& prepare(MPI_Comm comm) {
    Communicator& communicator = Communicator::with_context(comm, library->world);
    complete(communicator.context().get());
    return communicator;
}

std::shared_ptr<NonblockingContext> of_persistent(Communicator& communicator) {
    auto context = communicator.persistent_context();
    complete(context.get());
    return context;
}

void meeting(MPI_Comm comm) {
    Communicator* const communicator = Communicator::meeting(comm, library->world);
    if (communicator != nullptr) { complete(communicator->context().get()); }
}

} // namespace nodeaware::contexts
