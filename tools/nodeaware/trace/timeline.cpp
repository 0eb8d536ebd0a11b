#include "tools/nodeaware/trace/timeline.hpp"

#include "tools/nodeaware/trace/analysis.hpp"
#include "tools/nodeaware/trace/clocks.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <ostream>

namespace nodeaware::tool {

namespace {

std::string json_of(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

const char* category_of(const std::string& function) {
    switch (purpose_of(function)) {
    case Purpose::exchange: return "exchange";
    case Purpose::message: return "message";
    default: return "other";
    }
}

/// On a track events may be within each other, but not overlap.
class Tracks {
  public:
    /// Events come by their begins. Returns the number of the track.
    size_t place(const TracedEvent& event) {
        for (size_t i = 0; i < open_.size(); ++i) {
            std::vector<double>& ends = open_[i];
            while (!ends.empty() && ends.back() <= event.begin) { ends.pop_back(); }
            if (!ends.empty() && ends.back() < event.end) { continue; }
            ends.push_back(event.end);
            return i;
        }
        open_.push_back({event.end});
        return open_.size() - 1;
    }

  private:
    std::vector<std::vector<double>> open_; ///< ends of events that are not over
};

class TimelineWriter {
  public:
    TimelineWriter(std::ostream& out, const Trace& trace) : out_(out), trace_(trace) {}

    void write() {
        out_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"job\":" << json_of(trace_.job)
             << ",\"mpi\":" << json_of(trace_.mpi) << ",\"begin\":" << json_of(trace_.begin)
             << "},\"traceEvents\":[";
        name_nodes();
        const std::vector<double> begins = begins_of(trace_);
        for (size_t i = 0; i < trace_.ranks.size(); ++i) { add_rank(trace_.ranks[i], begins[i]); }
        out_ << "\n]}\n";
    }

  private:
    // Perfetto takes the numbers 0 for those of the system.
    int64_t process_of(int rank) const {
        return int64_t{1} + trace_.nodes[static_cast<size_t>(rank)];
    }
    size_t thread_of(int rank, size_t track) const {
        return static_cast<size_t>(rank) + 1 + track * trace_.nodes.size();
    }

    void add(const std::string& event) {
        out_ << (is_first_ ? "\n" : ",\n") << event;
        is_first_ = false;
    }

    void name_nodes() {
        std::map<int64_t, std::string> hosts;
        for (const RankTrace& rank : trace_.ranks) {
            hosts.emplace(process_of(rank.rank), rank.host);
        }
        for (const auto& [process, host] : hosts) {
            const std::string name = (trace_.nodes_are_virtual ? "virtual node " : "node ") +
                                     std::to_string(process - 1);
            add(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})",
                            process, json_of(name + " on " + host)));
            add(fmt::format(
                R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})",
                process));
        }
    }

    void name_track(int rank, size_t track) {
        std::string name = "rank " + std::to_string(rank);
        if (track > 0) { name += ", at the same time (" + std::to_string(track + 1) + ")"; }
        const int process = process_of(rank);
        const size_t thread = thread_of(rank, track);
        add(fmt::format(
            R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", process,
            thread, json_of(name)));
        add(fmt::format(
            R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
            process, thread, rank));
    }

    void add_rank(const RankTrace& rank, double begin) {
        std::vector<std::string> functions; // with their categories
        for (const std::string& function : rank.functions) {
            functions.push_back(
                fmt::format(R"("name":{},"cat":"{}")", json_of(function), category_of(function)));
        }
        std::vector<std::string> communicators;
        for (const TracedCommunicator& communicator : rank.communicators) {
            communicators.push_back(
                json_of(name_of_ranks(communicator.members, trace_.nodes.size())));
        }
        std::vector<size_t> order(rank.events.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            const TracedEvent& one = rank.events[a];
            const TracedEvent& other = rank.events[b];
            return one.begin < other.begin || (one.begin == other.begin && one.end > other.end);
        });
        Tracks tracks;
        size_t named = 0;
        for (const size_t number : order) {
            const TracedEvent& event = rank.events[number];
            const size_t track = tracks.place(event);
            for (; named <= track; ++named) { name_track(rank.rank, named); }
            add_call(rank, event, track, begin, functions, communicators);
        }
        add_gap(rank, begin);
    }

    void add_call(const RankTrace& rank, const TracedEvent& event, size_t track, double begin,
                  const std::vector<std::string>& functions,
                  const std::vector<std::string>& communicators) {
        std::string text = fmt::format(
            R"({{"ph":"X",{},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"bytes":{})",
            functions[event.function], process_of(rank.rank), thread_of(rank.rank, track),
            (begin + event.begin) * 1e6, (event.end - event.begin) * 1e6, event.bytes);
        if (event.communicator >= 0) {
            const auto number = static_cast<size_t>(event.communicator);
            text += ",\"communicator\":" + communicators[number];
            if (event.peer >= 0) {
                const auto& members = rank.communicators[number].members;
                text += fmt::format(",\"peer\":{}", members[static_cast<size_t>(event.peer)]);
            }
        }
        add(text + "}}");
    }

    /// Of a long run there are the first events and the last.
    void add_gap(const RankTrace& rank, double begin) {
        if (rank.events_left_out == 0 || rank.events.size() < 2) { return; }
        const auto middle =
            rank.events.begin() + static_cast<std::ptrdiff_t>(rank.events.size() / 2);
        double from = 0;
        double to = middle->begin;
        for (auto event = rank.events.begin(); event != middle; ++event) {
            from = std::max(from, event->end);
        }
        for (auto event = middle; event != rank.events.end(); ++event) {
            to = std::min(to, event->begin);
        }
        // Viewers add in floating point, and take what seems to overlap for an error.
        constexpr double nanosecond = 1e-9;
        from += nanosecond;
        to -= nanosecond;
        if (to <= from) { return; }
        add(fmt::format(R"({{"ph":"X","name":"{} calls that had no room","cat":"gap","pid":{},)"
                        R"("tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{}}}})",
                        rank.events_left_out, process_of(rank.rank), thread_of(rank.rank, 0),
                        (begin + from) * 1e6, (to - from) * 1e6));
    }

    std::ostream& out_;
    const Trace& trace_;
    bool is_first_ = true;
};

} // namespace

void write_timeline(std::ostream& out, const Trace& trace) { TimelineWriter(out, trace).write(); }

} // namespace nodeaware::tool
