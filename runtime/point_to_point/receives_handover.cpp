#include "runtime/point_to_point/receives.hpp"

#include <algorithm>

/// Whether messages come by MPI or by the library.
namespace nodeaware {

Receives::~Receives() {
    if (payloads_ == nullptr) { return; }
    for (size_t i = 0; i < sources_.size(); ++i) {
        if (sources_[i] == nullptr) { continue; }
        payloads_->give_part_back(members_[i], sources_[i]->part);
    }
}

const Receives::Source* Receives::find_source(int source) const {
    return sources_[static_cast<size_t>(source)].get();
}

Receives::Source& Receives::at(int source) {
    is_flushed_ = false;
    auto& known = sources_[static_cast<size_t>(source)];
    if (known == nullptr) { known = std::make_unique<Source>(); }
    return *known;
}

/// Messages of the library that nobody has received yet come first, also when it brings no more.
bool Receives::concerns(int source) const {
    if (source == MPI_ANY_SOURCE) { return connections_ > 0 || !unexpected_.empty(); }
    const Source* const known = find_source(source);
    if (known == nullptr) { return false; }
    return known->receiver.is_by_library() || unexpected_.has(source);
}

void Receives::note_posted_in_mpi(int source, int tag) { receiver(source).posted(tag); }
void Receives::note_taken_back_in_mpi(int source, int tag) { receiver(source).taken_back(tag); }

uint32_t Receives::era_of(int source) const {
    const Source* const known = find_source(source);
    return known == nullptr ? 0 : known->receiver.era();
}

/// Whose number changes with it is not to have met a message yet.
bool Receives::may_cancel_in_mpi(int source, int tag, uint32_t era) {
    if (era_of(source) != era) { return false; }
    const auto first = std::find_if(posted_.begin(), posted_.end(), [&](const auto& receive) {
        return receive->source == source && receive->tag == tag;
    });
    return first == posted_.end() || close_from(first);
}

void Receives::cancelling_in_mpi(int source, int tag) {
    handover::Receiver& end = receiver(source);
    end.taken_back(tag);
    if (end.is_by_library()) { end.in_doubt(tag); }
}

void Receives::was_not_cancelled_in_mpi(int source, int tag) {
    handover::Receiver& end = receiver(source);
    end.posted(tag);
    if (!end.is_by_library()) { return; }
    end.was_not_cancelled(tag);
    sort_again();
}

bool Receives::needs_shadow(int source, int tag) const {
    if (may_come_by_mpi(source, tag)) { return true; }
    return find_source(source)->is_asked_back;
}

bool Receives::may_come_by_mpi(int source, int tag) const {
    if (source == MPI_ANY_SOURCE) { return true; }
    const Source* const known = find_source(source);
    return known == nullptr || known->receiver.may_come_by_mpi(tag, tag == MPI_ANY_TAG);
}

/// A message of the library for such a receive or probe. Those have to wait that a receive before
/// it may take, and those of sources where one that was sent before may come by MPI.
const wire::Arrived* Receives::find_arrived(int source, int tag) const {
    if (unexpected_.empty()) { return nullptr; }
    const bool is_named = source != MPI_ANY_SOURCE && tag != MPI_ANY_TAG;
    return unexpected_.find(source, tag, [&](const wire::Entry& entry) {
        const Source* const known = find_source(entry.source);
        if (known->receiver.must_come_by_mpi_first(tag, tag == MPI_ANY_TAG)) { return false; }
        return blocked_.count(entry.source) == 0 || (is_named && !is_claimed(entry));
    });
}

/// Messages that the receive would take if others did not have to come first.
void Receives::note_blocked(const Receive& receive) {
    if (unexpected_.empty()) { return; }
    unexpected_.for_each_source([&](int source) {
        const bool is_for_it = receive.source == source || receive.source == MPI_ANY_SOURCE;
        const auto any = [](const wire::Entry&) { return true; };
        if (is_for_it && unexpected_.find(source, receive.tag, any) != nullptr) {
            blocked_.insert(source);
        }
    });
}

bool Receives::is_claimed(const wire::Entry& entry) const {
    return std::any_of(posted_.begin(), posted_.end(), [&](const auto& receive) {
        return receive->accepts(entry.source, entry.tag);
    });
}

std::optional<int> Receives::payload_tag(int source, int tag, uint32_t number) const {
    const Source* const known = find_source(source);
    if (payloads_ == nullptr || known == nullptr) { return std::nullopt; }
    return payloads_->tag(known->part, tag, number);
}

uint32_t Receives::from_before(const Channel& channel) const {
    const Source* const known = find_source(channel.first);
    return known == nullptr ? 0
                            : static_cast<uint32_t>(known->receiver.from_before(channel.second));
}

std::vector<int> Receives::waiting(int source) const {
    std::vector<int> tags;
    for (const auto& receive : posted_) {
        if (receive->source == source && !receive->has_any_tag()) { tags.push_back(receive->tag); }
    }
    return tags;
}

std::optional<Receives::Answer> Receives::answer(int source) {
    Source& known = at(source);
    const bool is_settled = !doubtful_ && !unexpected_.has(source);
    if (!known.receiver.may_answer() || !is_settled) { return std::nullopt; }
    const auto is_unknown = [&](const std::shared_ptr<Receive>& receive) {
        return receive->has_wildcards() &&
               (receive->source == source || receive->source == MPI_ANY_SOURCE);
    };
    if (std::any_of(posted_.begin(), posted_.end(), is_unknown) ||
        std::any_of(by_mpi_.begin(), by_mpi_.end(), is_unknown)) {
        return std::nullopt;
    }
    // Those with shadows from before count like receives of MPI, which come after them.
    const auto is_named = [&](const auto& receive) { return receive->source == source; };
    std::copy_if(posted_.begin(), posted_.end(), std::back_inserter(by_mpi_), is_named);
    posted_.remove_if(is_named);
    for (const auto& receive : by_mpi_) {
        if (!is_named(receive) || receive->is_answered) { continue; }
        receive->is_answered = true;
        receive->era = known.receiver.era();
    }
    forget_numbers(source); // at both ends they begin here
    if (payloads_ != nullptr) { known.part = payloads_->take_part(world(source)); }
    ++connections_;
    return Answer{known.receiver.answer(), known.part};
}

void Receives::forget_numbers(int source) {
    const auto first = Channel{source, std::numeric_limits<int>::min()};
    const auto last = Channel{source, std::numeric_limits<int>::max()};
    matched_on_.erase(matched_on_.lower_bound(first), matched_on_.upper_bound(last));
    announced_.erase(announced_.lower_bound(first), announced_.upper_bound(last));
}

void Receives::end_connection(Source& known, int source) {
    forget_numbers(source);
    if (payloads_ != nullptr) { payloads_->give_part_back(world(source), known.part); }
    known.part = StraightMessages::no_part;
    --connections_;
    for (const auto& receive : posted_) {
        if (receive->source == source) { close_payload(*receive); }
    }
}

void Receives::given_up(int source) {
    Source& known = at(source);
    if (known.receiver.phase() != handover::Receiver::Phase::answered) { return; }
    known.receiver.given_up();
    end_connection(known, source);
}

void Receives::handed_over(int source, std::span<const int> tags) {
    receiver(source).handed_over(tags);
}

/// Receives that wait get shadows in the order of their posting; so it is done when there is none
/// without, nor a message that nobody has received. Programs that exchange again and again come to
/// such moments.
bool Receives::leave(int source) {
    if (!knows_payloads()) { // it may have just come back
        is_back();
        payloads_->catch_all().advance();
    }
    const bool has_gaps = std::any_of(posted_.begin(), posted_.end(), [&](const auto& receive) {
        const bool accepts = receive->source == source || receive->source == MPI_ANY_SOURCE;
        return accepts && receive->shadow == MPI_REQUEST_NULL;
    });
    const bool is_receiving =
        std::any_of(receiving_.begin(), receiving_.end(),
                    [&](const auto& receive) { return receive->actual_source == source; });
    const bool owes = std::any_of(to_acknowledge_.begin(), to_acknowledge_.end(),
                                  [&](const wire::Entry& entry) { return entry.source == source; });
    // Payloads of the numbers that are forgotten then must not meet later receives.
    const bool is_settled = !is_receiving && !owes && knows_payloads();
    at(source).is_asked_back = true;
    return is_settled && !doubtful_ && !has_gaps && !unexpected_.has(source) &&
           receiver(source).leave(waiting(source));
}

void Receives::left(int source) {
    Source& known = at(source);
    if (known.receiver.phase() != handover::Receiver::Phase::leaving) { return; }
    known.receiver.left();
    known.is_asked_back = false;
    end_connection(known, source);
}

} // namespace nodeaware
