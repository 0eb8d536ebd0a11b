#pragma once

#include "tools/nodeaware/elf.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// What `nodeaware doctor` has found, before anything is said about it.
namespace nodeaware::tool::doctor {

/// What the file of a program tells; it is not run.
struct ProgramFacts {
    std::string word; ///< as in the command line
    enum class Kind {
        in_container, ///< of which nothing can be seen from here
        missing,
        not_executable,
        foreign, ///< for another kind of processor
        script,
        linked_statically,
        linked_dynamically
    };
    Kind kind = Kind::missing;
    std::optional<MpiFlavor> mpi; ///< nothing: its file does not tell
    bool has_privileges = false;  ///< setuid, setgid or capabilities
    std::string mpi_file = {};    ///< the library of MPI that it finds here; empty: none
};

/// How the launcher did.
struct RunFacts {
    std::string command;      ///< as a line for a shell
    bool was_started = false; ///< false: `obstacle` says why not
    std::string obstacle;
    bool lacks_launcher = false; ///< that is the obstacle, rather than a missing probe
    bool wants_terminal = false; ///< it was ended, as it wanted to read from there
    bool is_out_of_time = false;
    double seconds = 0;       ///< that it took, or was given
    int status = 0;           ///< exit status, or 128 and the signal
    std::string last_words;   ///< of stderr, the lines that tell most
    std::string memory_words; ///< what stderr says of shared memory
    size_t unreadable = 0;    ///< records of jobs that are damaged
};

/// What one process of the job has found. Most have found the same.
struct RankFacts {
    std::string host;
    std::string mpi;                   ///< name and version, "Open MPI 4.1.4"
    std::string mpi_file;              ///< the library of MPI, without links
    std::string libc;                  ///< version of the GNU C library, "2.36"; empty: another one
    std::string library;               ///< file of the preloaded library; empty: it is not there
    std::string core;                  ///< file of the core for this MPI, beside it
    std::string core_error;            ///< why that cannot be loaded; empty: it can
    std::string identity;              ///< equal where the files of both are
    std::vector<std::string> preloads; ///< all of LD_PRELOAD, whether or not they could be loaded
    std::vector<std::string> tools;    ///< other files with functions of MPI in front of it
    std::vector<std::string> settings; ///< NODEAWARE_NAME=VALUE, sorted
    std::map<std::string, std::string> launcher; ///< variables with a number of ranks
    bool operator==(const RankFacts&) const = default;
};

/// The ranks that have found the same, in their order.
struct RankGroup {
    std::vector<int> ranks;
    RankFacts facts;
};

/// Whether the ranks of a node can share as much as the library wants to.
struct MemoryFacts {
    std::string host;
    bool is_shared = false;
    bool is_in_dev_shm = false;   ///< else each looks into /proc of the other
    std::uint64_t free_bytes = 0; ///< in /dev/shm
};

/// The model table that rank 0 chooses.
struct TableFacts {
    std::string wanted;     ///< name or file; empty: nobody says which
    std::string used;       ///< name
    std::string complaint;  ///< why it is not the wanted one
    std::string difference; ///< of what it was measured on from this job
};

/// The processes of one MPI_COMM_WORLD.
struct JobFacts {
    int ranks = 1;
    int machines = 1;
    std::vector<int> node_of; ///< by rank
    std::vector<RankGroup> groups;
    std::vector<std::string> complaints; ///< of settings, by rank 0
    std::vector<std::string> unwritable; ///< files that settings name, by rank 0, and why
    bool is_disabled = false;            ///< by the settings of rank 0
    bool is_observing = false;           ///< the same
    bool is_native = false;              ///< no operation has a strategy, the same
    bool has_virtual_nodes = false;
    std::uint64_t wanted_bytes = 0;  ///< of shared memory on each node
    std::vector<MemoryFacts> memory; ///< one for each node
    TableFacts table;

    const RankFacts& first() const { return groups.front().facts; }
};

/// What became of data that ranks exchanged with the library at work.
struct ExchangeFacts {
    long wrong = 0;                       ///< values
    bool has_report = false;              ///< of the library; without one it was not there
    bool is_rerouted = false;             ///< a call of any rank
    std::vector<std::string> left_to_mpi; ///< reasons
    bool operator==(const ExchangeFacts&) const = default;
};

struct Facts {
    std::vector<ProgramFacts> programs;    ///< empty: none is given
    MpiFlavor flavor = MpiFlavor::openmpi; ///< of the probe
    std::optional<MpiFlavor> launcher; ///< the MPI that the launcher belongs to, as far as it tells
    bool is_srun = false;
    std::string library; ///< that is preloaded; empty: `no_library` says why none is
    std::string no_library;
    std::string glibc_needed; ///< by the core, "2.34"; empty: none in particular
    std::string bad_setting;  ///< of this environment
    RunFacts run;
    std::vector<JobFacts> jobs;            ///< one, if all is well
    std::optional<RunFacts> exchange_run;  ///< nothing: something else is wrong
    std::optional<ExchangeFacts> exchange; ///< nothing: it did not come to its end
};

/// Marks of the probe's records, which are a job, or an exchange, as JSON.
inline constexpr const char* record_mark = "nodeaware_probe:";
inline constexpr const char* exchange_mark = "nodeaware_probe exchange:";
/// The probe's argument for the latter, and the strategy by which it is done.
inline constexpr const char* exchange_word = "exchange";
inline constexpr const char* exchange_strategy = "three_step";

/// One line of text. What in it is no UTF-8 is replaced.
std::string to_text(const RankFacts& rank);
std::string to_text(const MemoryFacts& memory);
std::string to_text(const JobFacts& job);
std::string to_text(const ExchangeFacts& exchange);
/// Nothing where it is damaged, or of another version.
std::optional<RankFacts> read_rank(const std::string& text);
std::optional<MemoryFacts> read_memory(const std::string& text);
std::optional<JobFacts> read_job(const std::string& text);
std::optional<ExchangeFacts> read_exchange(const std::string& text);

} // namespace nodeaware::tool::doctor
