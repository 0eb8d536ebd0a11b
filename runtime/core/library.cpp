#include "runtime/requests/library.hpp"

#include "runtime/collectives/nonblocking.hpp"
#include "runtime/core/guarded.hpp"
#include "runtime/point_to_point/message_counts.hpp"
#include "runtime/point_to_point/message_layer.hpp"

namespace nodeaware {

Library::Library(World discovered) : world(std::move(discovered)) {
    progress.set_oversubscribed(world.oversubscribed);
    if (Mailboxes::are_wanted(world)) { mailboxes = Mailboxes::create(world); }
    if (mailboxes != nullptr) { progress.add(*mailboxes); } // first, for it brings work to others
    nonblocking = std::make_unique<Nonblocking>(report, requests);
    progress.add(*nonblocking);
    if (!MessageLayer::is_wanted(world)) { return; }
    messages = std::make_unique<MessageLayer>(world, requests, progress, mailboxes);
    progress.add(*messages);
}

Library::~Library() = default;

/// The other ranks wait for this one, whatever fails here.
void Library::close() {
    guarded([&] { progress.before_blocking(); });
    if (messages != nullptr) {
        guarded([&] { messages->send_all(); });
    }
    if (mailboxes != nullptr) {
        guarded([&] { mailboxes->close(progress); });
        message_counts::add(mailboxes->counts());
    }
    if (messages != nullptr) {
        guarded([&] { messages->close(); });
    }
}

} // namespace nodeaware
