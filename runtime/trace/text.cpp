#include "runtime/trace/text.hpp"

#include "runtime/trace/modules.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace nodeaware::trace {

namespace {

using nlohmann::ordered_json;

/// Collects lines, and counts them.
class Lines {
  public:
    void add(const ordered_json& line) {
        text_ += line.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
        text_ += '\n';
        ++count_;
    }
    size_t count() const { return count_; }
    std::string take() { return std::move(text_); }

  private:
    std::string text_;
    size_t count_ = 0;
};

double seconds_of(Nanoseconds time) { return static_cast<double>(time) / 1e9; }

void add_times(ordered_json& line, const Times& times) {
    line["calls"] = times.calls;
    line["first"] = seconds_of(times.first);
    line["last"] = seconds_of(times.last);
    line["seconds"] = seconds_of(times.sum);
    line["least"] = seconds_of(times.least);
    line["most"] = seconds_of(times.most);
}

ordered_json list_of(const Sizes& sizes) {
    ordered_json list = ordered_json::array();
    for (const Sizes::Class& part : sizes.classes()) {
        list.push_back({part.number, part.messages, part.bytes});
    }
    return list;
}

ordered_json list_of(const std::vector<Block>& blocks) {
    ordered_json list = ordered_json::array();
    for (const Block& block : blocks) { list.push_back({block.peer, block.bytes}); }
    return list;
}

void add_communicators(Lines& lines, const Contents& contents) {
    for (size_t i = 0; i < contents.communicators().size(); ++i) {
        const Communicator& communicator = contents.communicators()[i];
        ordered_json members = ordered_json::array();
        for (const Run& run : communicator.members) {
            members.push_back({run.first, run.step, run.count});
        }
        const Receives& receives = contents.receives()[i];
        lines.add({{"type", "communicator"},
                   {"id", i},
                   {"rank", communicator.rank},
                   {"size", communicator.size},
                   {"inter", communicator.is_inter},
                   {"members", std::move(members)},
                   {"receives", receives.all},
                   {"from_any_source", receives.from_any_source},
                   {"with_any_tag", receives.with_any_tag}});
    }
}

void add_patterns(Lines& lines, const Contents& contents) {
    for (size_t i = 0; i < contents.patterns().size(); ++i) {
        const Pattern& pattern = contents.patterns()[i];
        ordered_json line = {{"type", "pattern"},
                             {"id", i},
                             {"function", pattern.function},
                             {"communicator", pattern.communicator},
                             {"memory", name_of(pattern.memory)},
                             {"type_bytes", pattern.type_bytes},
                             {"made", pattern.made}};
        add_times(line, pattern.times);
        if (pattern.waited > 0) { line["waited"] = seconds_of(pattern.waited); }
        line["to"] = list_of(pattern.blocks);
        if (!pattern.data.empty()) { line["data"] = pattern.data; }
        if (!pattern.values.empty()) { line["values"] = pattern.values; }
        if (pattern.samples > 0) { line["samples"] = pattern.samples; }
        lines.add(line);
    }
}

void add_collectives(Lines& lines, const Contents& contents) {
    for (const Pattern& collective : contents.collectives()) {
        ordered_json line = {{"type", "collective"},
                             {"function", collective.function},
                             {"communicator", collective.communicator},
                             {"memory", name_of(collective.memory)},
                             {"type_bytes", collective.type_bytes}};
        add_times(line, collective.times);
        line["to"] = list_of(collective.blocks);
        lines.add(line);
    }
}

void add_sequences(Lines& lines, const Contents& contents) {
    for (size_t i = 0; i < contents.sequences().size(); ++i) {
        const Sequence& sequence = contents.sequences()[i];
        if (sequence.runs.empty()) { continue; }
        ordered_json runs = ordered_json::array();
        for (const Sequence::Run& run : sequence.runs) { runs.push_back({run.pattern, run.calls}); }
        lines.add({{"type", "sequence"},
                   {"communicator", i},
                   {"is_cut", sequence.is_cut},
                   {"patterns", std::move(runs)}});
    }
}

void add_connections(Lines& lines, const Contents& contents) {
    for (const Connection& connection : contents.connections()) {
        lines.add({{"type", "sends"},
                   {"communicator", connection.communicator},
                   {"peer", connection.peer},
                   {"sizes", list_of(connection.sizes)}});
    }
}

void add_sites(Lines& lines, const Contents& contents) {
    std::map<std::string, std::string> build_ids; // of files
    for (const Site& site : contents.sites()) {
        ordered_json line = {{"type", "site"}, {"function", site.call.function}};
        const CodePlace place = place_of(site.call.site);
        if (!place.site.empty()) { line["site"] = place.site; }
        if (!place.build_id.empty()) { build_ids.emplace(place.file, place.build_id); }
        line["communicator"] = site.call.communicator;
        line["memory"] = name_of(site.call.memory);
        if (site.call.type_bytes > 0) { line["type_bytes"] = site.call.type_bytes; }
        line["messages"] = site.messages;
        line["bytes"] = site.bytes;
        add_times(line, site.times);
        lines.add(line);
    }
    for (const auto& [file, build_id] : build_ids) {
        lines.add({{"type", "module"}, {"file", file}, {"build_id", build_id}});
    }
}

void add_ways(Lines& lines, const std::vector<Way>& ways) {
    for (const Way& way : ways) {
        ordered_json line = {{"type", "way"},
                             {"operation", way.operation},
                             {"strategy", way.strategy},
                             {"reason", way.reason},
                             {"calls", way.calls},
                             {"sent_messages", way.sent_messages},
                             {"sent_bytes", way.sent_bytes}};
        if (!way.device.empty()) { line["device"] = way.device; }
        lines.add(line);
    }
}

void add_notes(Lines& lines, const Contents& contents) {
    for (const Note& note : contents.notes()) {
        lines.add({{"type", "note"}, {"text", note.text}, {"value", note.value}});
    }
}

void add_events(Lines& lines, const Contents& contents) {
    constexpr size_t of_a_line = 256;
    const std::vector<Event> events = contents.events();
    for (size_t first = 0; first < events.size(); first += of_a_line) {
        ordered_json list = ordered_json::array();
        ordered_json peers = ordered_json::array();
        for (size_t i = first; i < std::min(first + of_a_line, events.size()); ++i) {
            const Event& event = events[i];
            list.push_back({seconds_of(event.begin), seconds_of(event.end), event.function,
                            event.communicator, event.bytes});
            peers.push_back(event.peer);
        }
        lines.add({{"type", "events"}, {"events", std::move(list)}, {"peers", std::move(peers)}});
    }
}

/// What had no room.
void add_other(Lines& lines, const Contents& contents) {
    const Other& other = contents.other();
    lines.add({{"type", "other"},
               {"communicators", other.communicators},
               {"patterns", other.patterns},
               {"pattern_sizes", list_of(other.pattern_sizes)},
               {"collectives", other.collectives},
               {"sizes", list_of(other.messages)},
               {"site_calls", other.sites.calls},
               {"site_seconds", seconds_of(other.sites.sum)},
               {"events", other.events}});
}

} // namespace

std::string text_of(const Header& header, const Contents& contents, const std::vector<Way>& ways,
                    Nanoseconds now, bool is_complete) {
    Lines lines;
    lines.add({{"type", "trace"},
               {"version", format_version},
               {"job", header.job},
               {"rank", header.rank},
               {"ranks", header.ranks},
               {"node", header.node},
               {"host", header.host},
               {"clock", header.clock}});
    add_communicators(lines, contents);
    add_patterns(lines, contents);
    add_collectives(lines, contents);
    add_sequences(lines, contents);
    add_connections(lines, contents);
    add_sites(lines, contents);
    add_ways(lines, ways);
    add_notes(lines, contents);
    add_events(lines, contents);
    add_other(lines, contents);
    lines.add({{"type", "end"},
               {"lines", lines.count() + 1},
               {"complete", is_complete},
               {"wall", seconds_of(now)},
               {"calls", contents.all_calls().calls},
               {"seconds", seconds_of(contents.all_calls().sum)}});
    return lines.take();
}

} // namespace nodeaware::trace
