#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace scripted {

using Bytes = std::vector<std::byte>;

/// A datatype: where the bytes of one element are.
struct Type {
    MPI_Count extent = 0;
    std::vector<std::pair<MPI_Count, MPI_Count>> blocks; ///< offset, bytes
    int combiner = MPI_COMBINER_NAMED;
    MPI_Datatype made_of = MPI_DATATYPE_NULL;
    std::map<int, void*> attributes;

    uint64_t size() const;
    MPI_Count first() const;
    MPI_Count end() const;
};

/// A collective call of all ranks of a communicator.
struct Meeting {
    std::string kind; ///< the same on all ranks, or the call is wrong
    std::map<int, Bytes> given;
    int made = -1; ///< context of the communicator that it makes
};

/// A communicator, as all of its ranks know it.
struct Group {
    int context = 0;
    std::vector<int> members; ///< ranks in MPI_COMM_WORLD
    std::map<uint64_t, std::shared_ptr<Meeting>> meetings;
};

/// The same on one rank.
struct Comm {
    std::shared_ptr<Group> group;
    int rank = 0;
    uint64_t meetings = 0;
    MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
    std::map<int, void*> attributes; ///< by key, and those set last have the highest position
    std::vector<int> order;          ///< of the keys
    std::vector<int> sources;        ///< of a graph, at this rank
    int size() const { return static_cast<int>(group->members.size()); }
};

struct Message;

struct Request {
    enum class Kind { send, receive, generalized };
    enum class Mode { standard, synchronous, buffered };
    Kind kind = Kind::send;
    Mode mode = Mode::standard;
    bool is_persistent = false;
    bool is_active = true;
    bool is_complete = false;
    bool is_freed = false;         ///< by the application, before it was complete
    std::weak_ptr<Message> unsent; ///< what reads the memory of a send

    const void* memory = nullptr;
    int count = 0;
    std::shared_ptr<const Type> type;
    int peer = 0;
    int tag = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    std::shared_ptr<Group> group;

    MPI_Grequest_query_function* query = nullptr;
    MPI_Grequest_free_function* release = nullptr;
    MPI_Grequest_cancel_function* cancel = nullptr;
    void* extra = nullptr;

    // What the status says.
    int source = MPI_ANY_SOURCE;
    int actual_tag = MPI_ANY_TAG;
    uint64_t bytes = 0;
    bool is_cancelled = false;
    int error = MPI_SUCCESS;
};

/// A message under way, or one that has come and has met no receive yet.
struct Message {
    int source = 0; ///< in the communicator
    int destination_in_world = 0;
    int source_in_world = 0;
    int tag = 0;
    std::shared_ptr<Group> group;
    uint64_t size = 0;
    std::optional<Bytes> bytes;      ///< nothing: still in the memory of the sender
    std::shared_ptr<Request> sender; ///< to be completed when the message is matched, or nullptr
};

/// Handles of one kind on one rank. Freed ones are used again at once, as MPIs do.
template <class Handle, class Object> class Handles {
  public:
    Handle add(std::shared_ptr<Object> object) {
        size_t number = objects_.size();
        if (free_.empty()) {
            objects_.push_back(std::move(object));
        } else {
            number = free_.back();
            free_.pop_back();
            objects_[number] = std::move(object);
        }
        return handle_of(number);
    }
    std::shared_ptr<Object> find(Handle handle) const {
        const size_t number = number_of(handle);
        return number < objects_.size() ? objects_[number] : nullptr;
    }
    void remove(Handle handle) {
        objects_[number_of(handle)] = nullptr;
        free_.push_back(number_of(handle));
    }
    size_t count() const { return objects_.size() - free_.size(); }
    const std::vector<std::shared_ptr<Object>>& all() const { return objects_; }

  private:
    // Pointers or small numbers that no constant of an MPI has.
    static Handle handle_of(size_t number) {
        if constexpr (std::is_pointer_v<Handle>) {
            return reinterpret_cast<Handle>((number + 1) * 16); // NOLINT
        } else {
            return static_cast<Handle>(number + 1);
        }
    }
    static size_t number_of(Handle handle) {
        if constexpr (std::is_pointer_v<Handle>) {
            return reinterpret_cast<uintptr_t>(handle) / 16 - 1;
        } else {
            return static_cast<size_t>(handle) - 1;
        }
    }
    std::vector<std::shared_ptr<Object>> objects_;
    std::vector<size_t> free_;
};

} // namespace scripted
