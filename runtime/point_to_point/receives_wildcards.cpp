#include "runtime/point_to_point/receives.hpp"

#include <algorithm>

/// What MPI may do for receives with wildcards while this rank is away.
namespace nodeaware {

namespace {

using Pattern = CatchAll::Pattern;

/// For senders whose messages meet receives that are not opened, or none yet.
constexpr size_t more_than_wildcards = 4;
/// Payloads that are awaited by their tags, and receives with wildcards that messages may be for
/// which do not go straight: what is posted costs time whenever this rank may be away.
constexpr size_t most_patterns = 64;

/// Receives with wildcards, by what they take.
struct Wildcards {
    Wildcards(const std::vector<const Receive*>& receives, uint64_t above) {
        for (const Receive* receive : receives) {
            largest = std::max(largest, receive->memory.bytes);
            if (receive->memory.bytes > above) { ++large; }
            if (!receive->has_any_tag()) {
                ++with_tag[receive->tag];
            } else if (receive->source != MPI_ANY_SOURCE) {
                ++from_source[receive->source];
            } else {
                ++of_any;
            }
        }
    }

    std::map<int, uint32_t> with_tag;    ///< from any source
    std::map<int, uint32_t> from_source; ///< with any tag
    uint32_t of_any = 0;
    size_t large = 0;     ///< for messages that may go straight
    uint64_t largest = 0; ///< bytes
};

uint32_t count_of(const auto& counts, const auto& key) {
    const auto found = counts.find(key);
    return found == counts.end() ? 0 : found->second;
}

/// As many as there is room for.
void add(std::vector<Pattern>& patterns, size_t count, const Pattern& pattern) {
    const size_t room = most_patterns - patterns.size();
    patterns.insert(patterns.end(), std::min(count, room), pattern);
}

} // namespace

/// Tags of payloads of messages with that tag that are `ahead` on their channels, and how many
/// sources have such. `receives`: that may take a message of that source.
std::map<int, size_t> Receives::payloads_ahead(int tag, uint32_t ahead,
                                               const std::function<uint32_t(int)>& receives) const {
    std::map<int, size_t> found;
    if (ahead >= payloads_->tags().window(tag) / 2) { return found; }
    for (size_t i = 0; i < sources_.size(); ++i) {
        if (sources_[i] == nullptr || sources_[i]->part == StraightMessages::no_part) { continue; }
        const auto source = static_cast<int>(i);
        if (ahead >= receives(source)) { continue; }
        const uint32_t first = count_of(matched_on_, Channel{source, tag});
        if (const auto payload = payload_tag(source, tag, first + ahead)) { ++found[*payload]; }
    }
    return found;
}

/// The tag of a payload says which message it is, so for receives that name the tag those that may
/// be theirs are known, but for how many others come first on their channels: the nearest are
/// awaited first. For receives with any tag it is known whose they are: others that nobody receives
/// yet would meet them first by MPI, too. `named`: receives that name both.
void Receives::catch_payloads(const std::vector<const Receive*>& wildcards,
                              const std::map<Channel, uint32_t>& named, uint64_t above) const {
    const Wildcards waiting(wildcards, above);
    std::vector<Pattern> patterns;
    for (const auto& [source, count] : waiting.from_source) {
        add(patterns, count, {world(source), MPI_ANY_TAG});
    }
    bool is_more = true;
    for (uint32_t ahead = 0; is_more && patterns.size() < most_patterns; ++ahead) {
        is_more = false;
        for (const auto& [tag, count] : waiting.with_tag) {
            const auto receives = [&, tag = tag, count = count](int source) {
                return count + count_of(named, Channel{source, tag}) +
                       count_of(waiting.from_source, source) + waiting.of_any;
            };
            for (const auto& [payload, sources] : payloads_ahead(tag, ahead, receives)) {
                add(patterns, std::min<size_t>(sources, count), {MPI_ANY_SOURCE, payload});
                is_more = true;
            }
        }
    }
    const size_t others =
        std::max(std::min(wildcards.size(), most_patterns), waiting.large) + more_than_wildcards;
    patterns.insert(patterns.end(), others, {MPI_ANY_SOURCE, MPI_ANY_TAG});
    payloads_->catch_all().post(patterns, waiting.largest);
}

} // namespace nodeaware
