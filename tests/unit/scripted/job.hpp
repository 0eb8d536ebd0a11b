#pragma once

#include "tests/unit/scripted/objects.hpp"
#include "tests/unit/scripted/random.hpp"
#include "tests/unit/scripted/scheduler.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace scripted {

/// What MPI has on one rank.
struct Process {
    Handles<MPI_Request, Request> requests;
    Handles<MPI_Comm, Comm> comms;
    Handles<MPI_Message, Message> messages;
    Handles<MPI_Group, std::vector<int>> groups;
    Handles<MPI_Datatype, Type> types;
    std::shared_ptr<Comm> world;
    std::shared_ptr<Comm> self;
    std::map<int, MPI_Comm_delete_attr_function*> keys;
    std::map<int, void*> extras; ///< of the keys

    /// From each source and context, in order.
    std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> incoming;
    std::list<std::shared_ptr<Message>> unexpected;
    std::list<std::shared_ptr<Request>> posted;
    std::vector<std::function<void()>> events; ///< that happen while this rank is in MPI

    std::map<std::string, uint64_t> calls;          ///< by function
    std::map<std::string, uint64_t> calls_of_start; ///< of these, in MPI_Init
    uint64_t all_calls = 0;
    std::vector<int> raised; ///< codes that error handlers were called with
    bool is_over = false;    ///< MPI_Finalize has been called
};

/// Which call of which rank is to fail.
struct Failure {
    int rank = 0;
    std::string function; ///< empty: any
    uint64_t number = 0;  ///< of such calls on that rank, from 1
    int code = MPI_ERR_OTHER;
};

struct Settings {
    std::vector<int> nodes = {0, 0, 1, 1}; ///< of each rank
    uint64_t eager_limit = 4200;           ///< messages up to this are copied by MPI
    int largest_tag = 0x7fffffff;
    std::optional<Failure> failure;
};

/// A job whose ranks are in this process, and the network between them: messages of a channel stay
/// in order, everything else happens in an order that the seed decides. One at a time.
class Job {
  public:
    Job(uint64_t seed, Settings settings);
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    static Job& running();

    /// Runs `program` on each rank. Empty, or what went wrong.
    std::string run(const std::function<void(int)>& program);

    Scheduler& scheduler() { return scheduler_; }
    Random& random() { return random_; }
    const Settings& settings() const { return settings_; }
    int size() const { return static_cast<int>(settings_.nodes.size()); }
    int rank() const { return scheduler_.rank(); }
    Process& process() { return *processes_[static_cast<size_t>(rank())]; }
    Process& process(int rank) { return *processes_[static_cast<size_t>(rank)]; }
    bool has_failed() const { return has_failed_; } ///< the failure that was asked for
    const std::string& failed_place() const { return failed_place_; }
    void note_failure(const std::string& what) {
        has_failed_ = true;
        failed_place_ = what + " in " + scheduler_.place();
    }

    /// Counts the call of `function`, lets others go on and what comes be delivered. Not
    /// MPI_SUCCESS: what the call is to return.
    int enter(const char* function);
    /// Calls the error handler of a communicator; returns `code`.
    int raise(MPI_Comm comm, int code);
    /// Something is wrong that no test asked for: ends the job.
    void complain(const std::string& what) { scheduler_.stop(what); }

    std::shared_ptr<Comm> comm(MPI_Comm handle);
    std::shared_ptr<const Type> type(MPI_Datatype handle);
    MPI_Comm add_comm(int context, const std::vector<int>& members);
    std::shared_ptr<Meeting> meet(Comm& comm, const std::string& kind, Bytes bytes);
    void wait_for_all(const Comm& comm, const std::shared_ptr<Meeting>& meeting);
    int new_context() { return next_context_++; }

    void begin(const std::shared_ptr<Request>& request);
    void complete(const std::shared_ptr<Request>& request);
    /// The first that such a receive would take.
    std::shared_ptr<Message> find(const Group& group, int source, int tag) {
        return find(rank(), group, source, tag);
    }
    std::shared_ptr<Message> find(int rank, const Group& group, int source, int tag);
    void take(const std::shared_ptr<Message>& message);
    /// The message has met the receive.
    void match(const std::shared_ptr<Message>& message, const std::shared_ptr<Request>& receive);
    /// Of the rank that runs; it may take effect later, and only if no message meets it before.
    void cancel(const std::shared_ptr<Request>& request);
    /// MPI has given the request up: nothing is read from its memory any more, or written.
    void drop(const std::shared_ptr<Request>& request);

    /// Bytes that ranks have sent on a communicator of the application, and all others.
    std::map<int, uint64_t> sent_messages; ///< by context
    /// Requests and other objects that nobody has freed, and messages on MPI_COMM_WORLD that nobody
    /// has received: the last words of the library to itself on its own communicators may be late.
    std::string left_over() const;

  private:
    std::string under_way() const;
    void send(const std::shared_ptr<Request>& request);
    void receive(const std::shared_ptr<Request>& request);
    bool deliver(int rank, bool hurry);
    void arrive(int rank, const std::shared_ptr<Message>& message);
    void take_back(int rank, const std::shared_ptr<Request>& request);
    void later(int rank, std::function<void()> event);

    Settings settings_;
    Random random_;
    Scheduler scheduler_;
    std::vector<std::unique_ptr<Process>> processes_;
    std::map<int, std::weak_ptr<Group>> groups_;
    int next_context_ = 2;
    bool has_failed_ = false;
    std::string failed_place_;
    size_t laziness_; ///< what can happen does in one of so many cases
};

/// The bytes of `count` elements in the order of the type map, and back: as many as there are.
Bytes packed(const void* memory, int count, const Type& type);
void unpack(const Bytes& bytes, void* memory, int count, const Type& type);

} // namespace scripted
