#include "runtime/requests/library.hpp"

#include "runtime/collectives/nonblocking.hpp"
#include "runtime/core/guarded.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/device/slabs.hpp"
#include "runtime/job/log.hpp"
#include "runtime/point_to_point/message_counts.hpp"
#include "runtime/point_to_point/message_layer.hpp"
#include "tuning/text_file.hpp"

#include <cstring>
#include <exception>
#include <unistd.h>

namespace nodeaware {

namespace {

/// For the report: nobody has decided on messages, which might have been gathered elsewhere.
bool is_left_on_one_machine(const World& world) {
    const Operation messages = Operation::point_to_point;
    const bool is_chosen = world.options.choice(messages).kind == Choice::Kind::native;
    return world.leaves_to_mpi(messages) && !is_chosen && world.nodes() > 1;
}

} // namespace

Library::Library(World discovered) : world(std::move(discovered)), learned(world) {
    progress.set_oversubscribed(world.oversubscribed);
    if (Mailboxes::are_wanted(world)) { mailboxes = Mailboxes::create(world); }
    if (mailboxes != nullptr) { progress.add(*mailboxes); } // first, for it brings work to others
    nonblocking = std::make_unique<Nonblocking>(report, requests);
    progress.add(*nonblocking);
    if (!MessageLayer::is_wanted(world)) {
        if (is_left_on_one_machine(world)) {
            message_counts::add(message_counts::Verdict::one_machine);
        }
        return;
    }
    messages = std::make_unique<MessageLayer>(world, requests, progress, mailboxes);
    progress.add(*messages);
    if (world.threads_at_once) { Turn::take_from_now_on(); }
}

Library::~Library() = default;

namespace {

/// What processes share of devices is opened and given back by all: nobody frees what another one
/// has open.
void close_slabs(const World& world) {
    if (world.options.parameters.device_copy == DeviceCopy::md) { return; }
    int mine = device::driver() == nullptr ? 1 : 0;
    // Whatever happens here, the others wait to be told.
    guarded([&] { mine = mine == 1 || device::imports().close() ? 1 : 0; });
    int all = 0;
    MPI_CALL(Allreduce, &mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all == 1 && device::driver() != nullptr) { device::slabs().close(); }
}

void write_learned(const LearnedChoices& learned) {
    try {
        const auto text = learned.text();
        if (!text) { return; }
        const int error = tuning::write_whole(learned.path(), *text);
        if (error == 0) { return; }
        log(LogLevel::warn, "NODEAWARE_TUNING: {}: {}", learned.path(), std::strerror(error));
    } catch (const std::exception& failure) { // the file is not what it was, or there is no memory
        log(LogLevel::warn, "NODEAWARE_TUNING: {}", failure.what());
    }
}

} // namespace

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
    guarded([&] { close_slabs(world); });
    write_learned(learned);
}

} // namespace nodeaware
