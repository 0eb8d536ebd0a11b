// Persistent requests that are started again and again, in lists and one by one.

#include "tests/mpi/conformance/messages.hpp"

namespace nodeaware::conformance {

namespace {

const Transfer& function(const std::vector<Transfer>& list, const std::string& name) {
    for (const Transfer& candidate : list) {
        if (candidate.name == name) { return candidate; }
    }
    std::abort();
}

/// A receive and a send; what is sent is what is in memory when the send is started.
void again(Context& context, const std::string& name, bool together) {
    const Transfer& send = function(sends(), name);
    const bool ready = name.find("Rsend") == 0;
    for (const int shift : {3, 1, 0}) {
        Memory sent(learned_count * sizeof(int));
        Memory received(sent.size());
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Recv_init(received.data(), learned_count, MPI_INT, context.left(shift), learned_tag,
                      context.comm, &requests[0]);
        send.invoke(
            {sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag, context.comm},
            &requests[1], nullptr);
        for (int i = 0; i < 4; ++i) {
            for (int k = 0; k < learned_count; ++k) {
                sent.ints()[k] = 1000 * context.rank + 10 * i + k;
            }
            if (together && !ready) {
                context.out.call("Startall", MPI_Startall(2, requests));
            } else {
                context.out.call("Start", MPI_Start(&requests[0]));
                if (ready) { context.sync(); }
                context.out.call("Start", MPI_Start(&requests[1]));
            }
            MPI_Status statuses[2] = {fresh_status(), fresh_status()};
            context.out.call("Waitall", MPI_Waitall(2, requests, statuses));
            context.out.status("status", statuses[0]);
            context.out.data("received", received);
        }
        for (MPI_Request& request : requests) {
            context.out.call("Request_free", MPI_Request_free(&request));
        }
    }
}

/// All with all, some of them not in each round; those of nobody too.
void some_of_many(Context& context) {
    std::vector<Memory> sent;
    std::vector<Memory> received;
    std::vector<MPI_Request> requests;
    const auto count = static_cast<size_t>(context.size);
    for (size_t i = 0; i < count; ++i) {
        sent.emplace_back(learned_count * sizeof(int));
        received.emplace_back(learned_count * sizeof(int));
        const int from = i == 2 ? MPI_PROC_NULL : context.left(static_cast<int>(i));
        MPI_Recv_init(received[i].data(), learned_count, MPI_INT, from, learned_tag, context.comm,
                      &requests.emplace_back());
    }
    for (size_t i = 0; i < count; ++i) {
        const int to = i == 2 ? MPI_PROC_NULL : context.right(static_cast<int>(i));
        MPI_Send_init(sent[i].data(), learned_count, MPI_INT, to, learned_tag, context.comm,
                      &requests.emplace_back());
    }
    for (size_t round = 0; round < 4; ++round) {
        for (Memory& memory : sent) {
            memory.ints()[0] = 100 * context.rank + static_cast<int>(round);
        }
        for (const size_t half : {size_t{0}, count}) {
            for (size_t i = 0; i < count; ++i) {
                if (i % 3 == round) { continue; }
                context.out.call("Start", MPI_Start(&requests[half + i]));
            }
        }
        std::vector<MPI_Status> statuses(requests.size(), fresh_status());
        context.out.call("Waitall", MPI_Waitall(static_cast<int>(requests.size()), requests.data(),
                                                statuses.data()));
        for (size_t i = 0; i < count; ++i) {
            context.out.status("status", statuses[i]);
            context.out.data("received", received[i]);
        }
    }
    for (MPI_Request& request : requests) { MPI_Request_free(&request); }
}

/// One by one in the order of the list, and nothing else than tests.
void tested(Context& context) {
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(learned_count, context.rank);
        Memory received(sent.size());
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Recv_init(received.data(), learned_count, MPI_INT, context.left(shift), MPI_ANY_TAG,
                      context.comm, &requests[0]);
        MPI_Send_init(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                      context.comm, &requests[1]);
        for (int i = 0; i < 3; ++i) {
            context.out.call("Startall", MPI_Startall(2, requests));
            for (MPI_Request& request : requests) {
                MPI_Status status = fresh_status();
                int code = MPI_SUCCESS;
                for (int flag = 0; flag == 0 && code == MPI_SUCCESS;) {
                    code = MPI_Test(&request, &flag, &status);
                }
                context.out.call("Test", code);
                if (&request == requests) { context.out.status("status", status); }
            }
            context.out.data("received", received);
            int flag = -7;
            MPI_Status status = fresh_status();
            context.out.call("Test of an inactive one", MPI_Test(&requests[0], &flag, &status));
            context.out.value("flag", flag);
            context.out.status("status", status);
            context.sync();
        }
        for (MPI_Request& request : requests) { MPI_Request_free(&request); }
    }
}

/// With messages that are not persistent on the same channel, in turn.
void beside_others(Context& context) {
    for (const int shift : {3, 1}) {
        Memory sent = Memory::of_ints(4 * learned_count, 100 * context.rank);
        Memory received[2] = {Memory(learned_count * sizeof(int)),
                              Memory(learned_count * sizeof(int))};
        MPI_Request receives[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Request send = MPI_REQUEST_NULL;
        MPI_Recv_init(received[0].data(), learned_count, MPI_INT, context.left(shift), learned_tag,
                      context.comm, &receives[0]);
        MPI_Send_init(sent.data(), learned_count, MPI_INT, context.right(shift), learned_tag,
                      context.comm, &send);
        for (int i = 0; i < 3; ++i) {
            MPI_Start(&receives[0]);
            MPI_Irecv(received[1].data(), learned_count, MPI_INT, context.left(shift), learned_tag,
                      context.comm, &receives[1]);
            MPI_Send(sent.ints() + i + 1, learned_count, MPI_INT, context.right(shift), learned_tag,
                     context.comm);
            MPI_Start(&send);
            MPI_Wait(&send, MPI_STATUS_IGNORE);
            context.out.call("Waitall", MPI_Waitall(2, receives, MPI_STATUSES_IGNORE));
            context.out.data("persistent", received[0]);
            context.out.data("other", received[1]);
        }
        MPI_Request_free(&receives[0]);
        MPI_Request_free(&send);
    }
}

} // namespace

void add_persistent(Cases& cases) {
    cases.group("persistent");
    std::vector<std::string> names = {"Send_init", "Bsend_init", "Ssend_init", "Rsend_init"};
#ifdef NODEAWARE_MPI_LARGE_COUNTS
    names.emplace_back("Send_init_c");
#endif
    for (const std::string& name : names) {
        cases.add("again." + name, Needs::shared,
                  [name](Context& context) { again(context, name, true); });
        cases.add("again_alone." + name, Needs::shared,
                  [name](Context& context) { again(context, name, false); });
    }
    cases.add("some_of_many", Needs::shared, some_of_many);
    cases.add("tested", Needs::shared, tested);
    cases.add("beside_others", Needs::shared, beside_others);
    cases.add("world.again", Needs::world,
              [](Context& context) { again(context, "Send_init", true); });
}

} // namespace nodeaware::conformance
