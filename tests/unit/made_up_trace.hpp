#pragma once

#include "runtime/trace/contents.hpp"
#include "runtime/trace/text.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace nodeaware::test {

/// A folder with a trace whose ranks record what a test wants. It is gone with this.
class MadeUpTrace {
  public:
    explicit MadeUpTrace(const std::vector<int>& nodes) : nodes_(nodes), contents_(nodes.size()) {
        std::filesystem::create_directories(folder_);
        headers_.resize(nodes.size());
        for (size_t rank = 0; rank < nodes.size(); ++rank) {
            const int ranks = static_cast<int>(nodes.size());
            headers_[rank] = {"job", static_cast<int>(rank), ranks, nodes[rank], "host", 0};
            contents_[rank].add_communicator(
                {static_cast<int>(rank), ranks, false, {{0, 1, ranks}}});
        }
    }
    ~MadeUpTrace() { std::filesystem::remove_all(folder_); }
    MadeUpTrace(const MadeUpTrace&) = delete;
    MadeUpTrace& operator=(const MadeUpTrace&) = delete;

    trace::Contents& rank(size_t number) { return contents_[number]; }
    trace::Header& header(size_t number) { return headers_[number]; }
    std::vector<trace::Way>& ways() { return ways_; } ///< of every rank
    const std::string& folder() const { return folder_; }
    std::string path_of(size_t rank) const {
        return folder_ + "/rank." + std::to_string(rank) + ".jsonl";
    }

    /// Writes the files; `wall` in nanoseconds.
    void write(trace::Nanoseconds wall = 1'000'000'000) const {
        const nlohmann::json manifest = {{"format", "nodeaware trace"},
                                         {"version", trace::format_version},
                                         {"job", "job"},
                                         {"library", "0"},
                                         {"mpi", "none"},
                                         {"begin", "2020-01-01T00:00:00Z"},
                                         {"model", ""},
                                         {"observes", true},
                                         {"complete", true},
                                         {"nodes_are_virtual", false},
                                         {"region", "node"},
                                         {"settings", nlohmann::json::object()},
                                         {"file_ending", ".jsonl"},
                                         {"ranks", nodes_.size()},
                                         {"nodes", nodes_}};
        std::ofstream(folder_ + "/manifest.json") << manifest.dump() << "\n";
        for (size_t rank = 0; rank < nodes_.size(); ++rank) {
            std::ofstream(path_of(rank))
                << trace::text_of(headers_[rank], contents_[rank], ways_, wall, true);
        }
    }

  private:
    static std::string new_folder() {
        static int count = 0;
        return (std::filesystem::temp_directory_path() /
                ("nodeaware-made-up-" + std::to_string(getpid()) + "-" + std::to_string(count++)))
            .string();
    }

    std::string folder_ = new_folder();
    std::vector<int> nodes_;
    std::vector<trace::Contents> contents_;
    std::vector<trace::Header> headers_;
    std::vector<trace::Way> ways_;
};

} // namespace nodeaware::test
