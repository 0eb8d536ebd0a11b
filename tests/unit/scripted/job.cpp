#include "tests/unit/scripted/job.hpp"

#include <algorithm>
#include <cstring>

namespace scripted {

namespace {

Job* job = nullptr;

bool is_dense(const Type& type) {
    return type.blocks.size() == 1 && type.blocks[0] == std::pair(MPI_Count{0}, type.extent);
}

bool accepts(const Request& receive, const Message& message) {
    return receive.group == message.group &&
           (receive.peer == MPI_ANY_SOURCE || receive.peer == message.source) &&
           (receive.tag == MPI_ANY_TAG || receive.tag == message.tag);
}

} // namespace

uint64_t Type::size() const {
    uint64_t sum = 0;
    for (const auto& block : blocks) { sum += static_cast<uint64_t>(block.second); }
    return sum;
}

MPI_Count Type::first() const {
    MPI_Count least = blocks.empty() ? 0 : blocks.front().first;
    for (const auto& block : blocks) { least = std::min(least, block.first); }
    return least;
}

MPI_Count Type::end() const {
    MPI_Count most = blocks.empty() ? 0 : blocks.front().first;
    for (const auto& [offset, bytes] : blocks) { most = std::max(most, offset + bytes); }
    return most;
}

Bytes packed(const void* memory, int count, const Type& type) {
    const auto* from = static_cast<const std::byte*>(memory);
    if (is_dense(type)) { return {from, from + count * type.extent}; }
    Bytes bytes;
    for (int i = 0; i < count; ++i, from += type.extent) {
        for (const auto& [offset, size] : type.blocks) {
            bytes.insert(bytes.end(), from + offset, from + offset + size);
        }
    }
    return bytes;
}

void unpack(const Bytes& bytes, void* memory, int count, const Type& type) {
    auto* to = static_cast<std::byte*>(memory);
    if (is_dense(type)) {
        std::copy(bytes.begin(), bytes.end(), to);
        return;
    }
    size_t done = 0;
    for (int i = 0; i < count; ++i, to += type.extent) {
        for (const auto& [offset, size] : type.blocks) {
            const size_t part = std::min(static_cast<size_t>(size), bytes.size() - done);
            if (part > 0) { std::memcpy(to + offset, bytes.data() + done, part); }
            done += part;
        }
    }
}

Job::Job(uint64_t seed, Settings settings)
    : settings_(std::move(settings)), random_(seed), scheduler_(random_.fork()),
      laziness_(random_.one_of(std::vector<size_t>{1, 2, 4, 16})) {
    job = this;
    const auto world = std::make_shared<Group>();
    for (int rank = 0; rank < size(); ++rank) { world->members.push_back(rank); }
    for (int rank = 0; rank < size(); ++rank) {
        auto process = std::make_unique<Process>();
        process->world = std::make_shared<Comm>();
        process->world->group = world;
        process->world->rank = rank;
        process->self = std::make_shared<Comm>();
        process->self->group = std::make_shared<Group>();
        process->self->group->context = 1;
        process->self->group->members = {rank};
        processes_.push_back(std::move(process));
    }
}

Job::~Job() { job = nullptr; }
Job& Job::running() { return *job; }

std::string Job::run(const std::function<void(int)>& program) {
    const std::string ended = scheduler_.run(
        size(), program, [this](int rank, bool hurry) { return deliver(rank, hurry); });
    return ended.empty() ? ended : ended + under_way();
}

std::string Job::under_way() const {
    std::string text;
    const auto add = [&](size_t rank, const char* what, int peer, int tag, const Group* group,
                         uint64_t bytes) {
        text += "\n  rank " + std::to_string(rank) + " has " + what + " " + std::to_string(peer) +
                ", tag " + std::to_string(tag) + ", context " +
                (group == nullptr ? "none" : std::to_string(group->context)) + ", " +
                std::to_string(bytes) + " bytes";
    };
    for (size_t rank = 0; rank < processes_.size(); ++rank) {
        const Process& process = *processes_[rank];
        for (const auto& request : process.requests.all()) {
            if (request == nullptr || !request->is_active || request->is_complete) { continue; }
            const char* const what = request->kind == Request::Kind::send      ? "a send to"
                                     : request->kind == Request::Kind::receive ? "a receive from"
                                                                               : "a request of";
            const uint64_t size = request->type == nullptr ? 0 : request->type->size();
            add(rank, what, request->peer, request->tag, request->group.get(),
                static_cast<uint64_t>(request->count) * size);
        }
        for (const auto& message : process.unexpected) {
            add(rank, "a message from", message->source, message->tag, message->group.get(),
                message->size);
        }
    }
    return text;
}

int Job::enter(const char* function) {
    Process& own = process();
    const std::string before = scheduler_.place();
    scheduler_.set_call(function);
    const uint64_t number = ++own.calls[function];
    const uint64_t of_all = ++own.all_calls;
    if (own.is_over) { complain(std::string(function) + " after MPI_Finalize"); }
    scheduler_.may_switch();
    deliver(rank(), false);
    const auto& failure = settings_.failure;
    if (!failure || has_failed_ || failure->rank != rank()) { return MPI_SUCCESS; }
    const bool is_this = failure->function.empty()
                             ? failure->number == of_all
                             : failure->function == function && failure->number == number;
    if (!is_this) { return MPI_SUCCESS; }
    has_failed_ = true;
    failed_place_ = std::string(function) + " in " + before;
    return failure->code;
}

int Job::raise(MPI_Comm handle, int code) {
    const auto found = comm(handle);
    if (found == nullptr || found->handler != MPI_ERRORS_RETURN) {
        process().raised.push_back(code);
    }
    return code;
}

std::shared_ptr<Comm> Job::comm(MPI_Comm handle) {
    Process& own = process();
    if (handle == MPI_COMM_WORLD) { return own.world; }
    if (handle == MPI_COMM_SELF) { return own.self; }
    auto found = handle == MPI_COMM_NULL ? nullptr : own.comms.find(handle);
    if (found == nullptr) { complain("a communicator that is none"); }
    return found;
}

MPI_Comm Job::add_comm(int context, const std::vector<int>& members) {
    auto group = groups_[context].lock();
    if (group == nullptr) {
        group = std::make_shared<Group>();
        group->context = context;
        group->members = members;
        groups_[context] = group;
    }
    auto made = std::make_shared<Comm>();
    made->group = group;
    const auto own = std::find(members.begin(), members.end(), rank());
    made->rank = static_cast<int>(own - members.begin());
    return process().comms.add(std::move(made));
}

std::shared_ptr<Meeting> Job::meet(Comm& comm, const std::string& kind, Bytes bytes) {
    auto& meeting = comm.group->meetings[comm.meetings++];
    if (meeting == nullptr) {
        meeting = std::make_shared<Meeting>();
        meeting->kind = kind;
        meeting->made = new_context();
    }
    if (meeting->kind != kind) {
        complain("ranks meet in different calls: " + meeting->kind + " and " + kind);
    }
    meeting->given[comm.rank] = std::move(bytes);
    scheduler_.note_change();
    const auto kept = meeting;
    if (kept->given.size() == comm.group->members.size()) {
        comm.group->meetings.erase(comm.meetings - 1);
    }
    return kept;
}

void Job::wait_for_all(const Comm& comm, const std::shared_ptr<Meeting>& meeting) {
    const size_t size = comm.group->members.size();
    scheduler_.wait_until([meeting, size] { return meeting->given.size() == size; }, true);
}

void Job::later(int rank, std::function<void()> event) {
    process(rank).events.push_back(std::move(event));
}

bool Job::deliver(int rank, bool hurry) {
    Process& own = process(rank);
    bool has_happened = false;
    for (size_t i = own.events.size(); i-- > 0;) {
        if (!hurry && !random_.one_in(laziness_)) { continue; }
        const auto event = std::move(own.events[i]);
        own.events.erase(own.events.begin() + static_cast<ptrdiff_t>(i));
        event();
        has_happened = true;
    }
    for (auto channel = own.incoming.begin(); channel != own.incoming.end();) {
        auto& queue = channel->second;
        while (!queue.empty() && (hurry || random_.one_in(laziness_ + 1))) {
            const auto message = queue.front();
            queue.pop_front();
            arrive(rank, message);
            has_happened = true;
        }
        channel = queue.empty() ? own.incoming.erase(channel) : std::next(channel);
    }
    if (has_happened) { scheduler_.note_change(); }
    return has_happened;
}

void Job::arrive(int rank, const std::shared_ptr<Message>& message) {
    auto& posted = process(rank).posted;
    const auto receive = std::find_if(posted.begin(), posted.end(), [&](const auto& candidate) {
        return accepts(*candidate, *message);
    });
    if (receive == posted.end()) {
        process(rank).unexpected.push_back(message);
        return;
    }
    const std::shared_ptr<Request> taken = *receive;
    posted.erase(receive);
    match(message, taken);
}

void Job::begin(const std::shared_ptr<Request>& request) {
    request->is_active = true;
    request->is_complete = false;
    request->is_cancelled = false;
    request->error = MPI_SUCCESS;
    scheduler_.note_change();
    if (request->peer == MPI_PROC_NULL) {
        request->source = MPI_PROC_NULL;
        request->bytes = 0;
        complete(request);
    } else if (request->kind == Request::Kind::send) {
        send(request);
    } else {
        receive(request);
    }
}

void Job::send(const std::shared_ptr<Request>& request) {
    auto message = std::make_shared<Message>();
    message->group = request->group;
    message->tag = request->tag;
    message->source_in_world = rank();
    message->destination_in_world = request->group->members[static_cast<size_t>(request->peer)];
    const auto& members = request->group->members;
    message->source =
        static_cast<int>(std::find(members.begin(), members.end(), rank()) - members.begin());
    message->size = static_cast<uint64_t>(request->count) * request->type->size();
    const bool is_copied =
        request->mode == Request::Mode::buffered || message->size <= settings_.eager_limit;
    if (is_copied) { message->bytes = packed(request->memory, request->count, *request->type); }
    if (!is_copied || request->mode == Request::Mode::synchronous) {
        message->sender = request;
        request->unsent = message;
    } else if (random_.one_in(2)) {
        complete(request);
    } else {
        later(rank(), [this, request] { complete(request); });
    }
    ++sent_messages[request->group->context];
    process(message->destination_in_world)
        .incoming[{rank(), request->group->context}]
        .push_back(std::move(message));
}

void Job::receive(const std::shared_ptr<Request>& request) {
    if (const auto found = find(*request->group, request->peer, request->tag)) {
        take(found);
        match(found, request);
    } else {
        process().posted.push_back(request);
    }
}

std::shared_ptr<Message> Job::find(int rank, const Group& group, int source, int tag) {
    for (const auto& message : process(rank).unexpected) {
        const bool is_it = message->group.get() == &group &&
                           (source == MPI_ANY_SOURCE || source == message->source) &&
                           (tag == MPI_ANY_TAG || tag == message->tag);
        if (is_it) { return message; }
    }
    return nullptr;
}

void Job::take(const std::shared_ptr<Message>& message) {
    process(message->destination_in_world).unexpected.remove(message);
}

void Job::match(const std::shared_ptr<Message>& message, const std::shared_ptr<Request>& receive) {
    receive->source = message->source;
    receive->actual_tag = message->tag;
    const auto end = [this, message, receive] {
        const uint64_t room = static_cast<uint64_t>(receive->count) * receive->type->size();
        receive->bytes = std::min(room, message->size);
        if (message->size > room) { receive->error = MPI_ERR_TRUNCATE; }
        message->bytes->resize(receive->bytes);
        if (receive->memory != nullptr) {
            unpack(*message->bytes, const_cast<void*>(receive->memory), receive->count,
                   *receive->type);
        }
        complete(receive);
    };
    const std::shared_ptr<Request> sender = message->sender;
    if (sender == nullptr) {
        end();
    } else if (message->bytes) {
        later(message->source_in_world, [this, sender] { complete(sender); });
        end();
    } else {
        later(message->source_in_world, [this, message, sender, end] {
            if (!message->bytes) {
                message->bytes = packed(sender->memory, sender->count, *sender->type);
            }
            complete(sender);
            later(message->destination_in_world, end);
        });
    }
}

void Job::cancel(const std::shared_ptr<Request>& request) {
    if (random_.one_in(2)) {
        take_back(rank(), request);
    } else { // some networks take a moment to say
        later(rank(), [this, request, own = rank()] { take_back(own, request); });
    }
}

void Job::take_back(int rank, const std::shared_ptr<Request>& request) {
    auto& posted = process(rank).posted;
    const auto found = std::find(posted.begin(), posted.end(), request);
    if (found == posted.end()) { return; }
    posted.erase(found);
    request->is_cancelled = true;
    request->bytes = 0;
    complete(request);
}

void Job::drop(const std::shared_ptr<Request>& request) {
    process().posted.remove(request);
    if (const auto message = request->unsent.lock(); message != nullptr && !message->bytes) {
        message->bytes = packed(request->memory, request->count, *request->type);
    }
    request->memory = nullptr;
}

void Job::complete(const std::shared_ptr<Request>& request) {
    request->is_complete = true;
    scheduler_.note_change();
}

std::string Job::left_over() const {
    std::string text;
    const auto add = [&](size_t rank, size_t count, const char* what) {
        if (count == 0) { return; }
        text +=
            "rank " + std::to_string(rank) + " keeps " + std::to_string(count) + " " + what + "; ";
    };
    for (size_t rank = 0; rank < processes_.size(); ++rank) {
        const Process& process = *processes_[rank];
        size_t inactive = 0;
        for (const auto& request : process.requests.all()) {
            if (request != nullptr && request->is_persistent && !request->is_active) { ++inactive; }
        }
        add(rank, process.requests.count() - inactive, "requests");
        add(rank, inactive, "persistent requests");
        add(rank, process.messages.count(), "probed messages");
        add(rank, process.groups.count(), "groups");
        add(rank, process.types.count(), "datatypes");
        const auto messages =
            std::count_if(process.unexpected.begin(), process.unexpected.end(),
                          [](const auto& message) { return message->group->context == 0; });
        add(rank, static_cast<size_t>(messages), "messages");
        add(rank, process.posted.size(), "receives");
    }
    return text;
}

} // namespace scripted
