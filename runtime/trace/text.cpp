#include "runtime/trace/text.hpp"

#include "runtime/trace/json_line.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <utility>

namespace nodeaware::trace {

namespace {

/// Collects lines, and counts them.
class Lines {
  public:
    void add(JsonLine& line) {
        text_ += line.take();
        ++count_;
    }
    size_t count() const { return count_; }
    std::string take() { return std::move(text_); }

  private:
    std::string text_;
    size_t count_ = 0;
};

JsonLine line_of(std::string_view type) {
    JsonLine line;
    line.add("type", type);
    return line;
}

void add_times(JsonLine& line, const Times& times) {
    line.add("calls", times.calls)
        .add_seconds("first", times.first)
        .add_seconds("last", times.last)
        .add_seconds("seconds", times.sum)
        .add_seconds("least", times.least)
        .add_seconds("most", times.most);
}

std::string list_of(const Sizes& sizes) {
    JsonList list;
    for (const Sizes::Class& part : sizes.classes()) {
        list.add(part.number, part.messages, part.bytes);
    }
    return list.take();
}

/// "FILE+0xOFFSET": what debuggers and addr2line take.
std::string name_of_site(const void* site) {
    Dl_info info;
    if (site == nullptr || dladdr(site, &info) == 0 || info.dli_fname == nullptr) { return ""; }
    char digits[24];
    const auto offset =
        reinterpret_cast<uintptr_t>(site) - reinterpret_cast<uintptr_t>(info.dli_fbase);
    return std::string(info.dli_fname) + "+0x" +
           std::string(digits, std::to_chars(digits, digits + sizeof digits, offset, 16).ptr);
}

void add_communicators(Lines& lines, const Contents& contents) {
    for (size_t i = 0; i < contents.communicators().size(); ++i) {
        const Communicator& communicator = contents.communicators()[i];
        JsonList members;
        for (const Run& run : communicator.members) { members.add(run.first, run.step, run.count); }
        const Receives& receives = contents.receives()[i];
        JsonLine line = line_of("communicator");
        line.add("id", i)
            .add("rank", communicator.rank)
            .add("size", communicator.size)
            .add("inter", communicator.is_inter)
            .add_value("members", members.take())
            .add("receives", receives.all)
            .add("from_any_source", receives.from_any_source)
            .add("with_any_tag", receives.with_any_tag);
        lines.add(line);
    }
}

void add_patterns(Lines& lines, const Contents& contents) {
    for (size_t i = 0; i < contents.patterns().size(); ++i) {
        const Pattern& pattern = contents.patterns()[i];
        JsonList blocks;
        for (const Block& block : pattern.blocks) { blocks.add(block.peer, block.bytes); }
        JsonLine line = line_of("pattern");
        line.add("id", i)
            .add("function", pattern.function)
            .add("communicator", pattern.communicator)
            .add("memory", name_of(pattern.memory))
            .add("type_bytes", pattern.type_bytes)
            .add("made", pattern.made);
        add_times(line, pattern.times);
        line.add_value("to", blocks.take());
        lines.add(line);
    }
}

void add_sequences(Lines& lines, const Contents& contents) {
    for (size_t i = 0; i < contents.sequences().size(); ++i) {
        const Sequence& sequence = contents.sequences()[i];
        if (sequence.runs.empty()) { continue; }
        JsonList runs;
        for (const Sequence::Run& run : sequence.runs) { runs.add(run.pattern, run.calls); }
        JsonLine line = line_of("sequence");
        line.add("communicator", i)
            .add("is_cut", sequence.is_cut)
            .add_value("patterns", runs.take());
        lines.add(line);
    }
}

void add_connections(Lines& lines, const Contents& contents) {
    for (const Connection& connection : contents.connections()) {
        JsonLine line = line_of("sends");
        line.add("communicator", connection.communicator)
            .add("peer", connection.peer)
            .add_value("sizes", list_of(connection.sizes));
        lines.add(line);
    }
}

void add_sites(Lines& lines, const Contents& contents) {
    for (const Site& site : contents.sites()) {
        JsonLine line = line_of("site");
        line.add("function", site.call.function);
        const std::string name = name_of_site(site.call.site);
        if (!name.empty()) { line.add("site", name); }
        line.add("communicator", site.call.communicator)
            .add("memory", name_of(site.call.memory))
            .add("messages", site.messages)
            .add("bytes", site.bytes);
        add_times(line, site.times);
        lines.add(line);
    }
}

void add_ways(Lines& lines, const std::vector<Way>& ways) {
    for (const Way& way : ways) {
        JsonLine line = line_of("way");
        line.add("operation", way.operation)
            .add("strategy", way.strategy)
            .add("reason", way.reason)
            .add("calls", way.calls)
            .add("sent_messages", way.sent_messages)
            .add("sent_bytes", way.sent_bytes);
        if (!way.device.empty()) {
            JsonList device;
            for (const uint64_t value : way.device) { device.add(JsonLine::text_of(value)); }
            line.add_value("device", device.take());
        }
        lines.add(line);
    }
}

void add_events(Lines& lines, const Contents& contents) {
    constexpr size_t of_a_line = 256;
    const std::vector<Event> events = contents.events();
    for (size_t first = 0; first < events.size(); first += of_a_line) {
        JsonList list;
        for (size_t i = first; i < std::min(first + of_a_line, events.size()); ++i) {
            const Event& event = events[i];
            JsonList row;
            row.add(JsonLine::seconds_of(event.begin));
            row.add(JsonLine::seconds_of(event.end));
            row.add(JsonLine::quoted(event.function));
            row.add(JsonLine::text_of(event.communicator));
            row.add(JsonLine::text_of(event.bytes));
            list.add(row.take());
        }
        JsonLine line = line_of("events");
        line.add_value("events", list.take());
        lines.add(line);
    }
}

/// What had no room.
void add_other(Lines& lines, const Contents& contents) {
    const Other& other = contents.other();
    JsonLine line = line_of("other");
    line.add("communicators", other.communicators)
        .add("patterns", other.patterns)
        .add_value("pattern_sizes", list_of(other.pattern_sizes))
        .add_value("sizes", list_of(other.messages))
        .add("site_calls", other.sites.calls)
        .add_seconds("site_seconds", other.sites.sum)
        .add("events", other.events);
    lines.add(line);
}

} // namespace

std::string text_of(const Header& header, const Contents& contents, const std::vector<Way>& ways,
                    Nanoseconds now, bool is_complete) {
    Lines lines;
    JsonLine first = line_of("trace");
    first.add("version", format_version)
        .add("job", header.job)
        .add("rank", header.rank)
        .add("ranks", header.ranks)
        .add("node", header.node)
        .add("host", header.host);
    lines.add(first);
    add_communicators(lines, contents);
    add_patterns(lines, contents);
    add_sequences(lines, contents);
    add_connections(lines, contents);
    add_sites(lines, contents);
    add_ways(lines, ways);
    add_events(lines, contents);
    add_other(lines, contents);
    JsonLine last = line_of("end");
    last.add("lines", lines.count() + 1)
        .add("complete", is_complete)
        .add_seconds("wall", now)
        .add("calls", contents.all_calls().calls)
        .add_seconds("seconds", contents.all_calls().sum);
    lines.add(last);
    return lines.take();
}

} // namespace nodeaware::trace
