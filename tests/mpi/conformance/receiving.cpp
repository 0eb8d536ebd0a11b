// Order of messages with several tags, wildcards, probes, from near and from far.

#include "tests/mpi/conformance/context.hpp"

#include <algorithm>

namespace nodeaware::conformance {

namespace {

struct Tagged {
    int tag;
    int count;
};
const std::vector<Tagged> several = {{learned_tag, learned_count},
                                     {7, 3},
                                     {learned_tag, learned_count},
                                     {8, 0},
                                     {7, 5},
                                     {learned_tag, 2},
                                     {0, 1},
                                     {8, learned_count}};

/// All of `several` to the rank `shift` further on.
class Sender {
  public:
    Sender(Context& context, int shift) {
        for (size_t i = 0; i < several.size(); ++i) {
            const int first = 1000 * context.rank + 10 * static_cast<int>(i);
            sent_.push_back(Memory::of_ints(learned_count, first));
            MPI_Isend(sent_.back().data(), several[i].count, MPI_INT, context.right(shift),
                      several[i].tag, context.comm, &requests_.emplace_back());
        }
    }
    ~Sender() {
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    }
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

  private:
    std::vector<Memory> sent_;
    std::vector<MPI_Request> requests_;
};

void receive(Context& context, int source, int tag) {
    Memory received(learned_count * sizeof(int));
    MPI_Status status = fresh_status();
    context.out.call("Recv", MPI_Recv(received.data(), learned_count, MPI_INT, source, tag,
                                      context.comm, &status));
    context.out.status("status", status);
    context.out.data("received", received);
}

void by_tag(Context& context) {
    for (const int shift : {3, 1, 0}) {
        const Sender sender(context, shift);
        for (const int tag : {8, learned_tag, 7, learned_tag, 0, 7, learned_tag, 8}) {
            receive(context, context.left(shift), tag);
        }
    }
}

void any_tag(Context& context) {
    for (const int shift : {3, 1, 0}) {
        const Sender sender(context, shift);
        for (size_t i = 0; i < several.size(); ++i) {
            receive(context, context.left(shift), MPI_ANY_TAG);
        }
    }
}

/// Of one rank only, so that it is known which comes.
template <bool any> void any_source(Context& context) {
    for (const int shift : {3, 1, 0}) {
        context.sync();
        const Sender sender(context, shift);
        for (const Tagged& tagged : several) {
            receive(context, MPI_ANY_SOURCE, any ? MPI_ANY_TAG : tagged.tag);
        }
        context.sync();
    }
}

/// Receives that are there before the messages, wildcards between others.
void posted_early(Context& context) {
    for (const int shift : {3, 1, 0}) {
        std::vector<Memory> received(several.size(), Memory(learned_count * sizeof(int)));
        std::vector<MPI_Request> requests;
        std::vector<MPI_Status> statuses(several.size(), fresh_status());
        for (size_t i = 0; i < several.size(); ++i) {
            const bool is_any = i % 3 == 1;
            const int tag = is_any ? MPI_ANY_TAG : several[i].tag;
            const int source = i % 3 == 2 ? MPI_ANY_SOURCE : context.left(shift);
            MPI_Irecv(received[i].data(), learned_count, MPI_INT, source, tag, context.comm,
                      &requests.emplace_back());
        }
        context.sync();
        const Sender sender(context, shift);
        context.out.call("Waitall", MPI_Waitall(static_cast<int>(requests.size()), requests.data(),
                                                statuses.data()));
        for (size_t i = 0; i < several.size(); ++i) {
            context.out.status("status", statuses[i]);
            context.out.data("received", received[i]);
        }
        context.sync();
    }
}

/// From everybody: each message once, and those of one rank in order.
void from_everybody(Context& context, bool probes) {
    context.sync();
    Memory sent = Memory::of_ints(2 * learned_count, 100 * context.rank);
    std::vector<MPI_Request> requests;
    for (int shift = 0; shift < context.size; ++shift) {
        for (int i = 0; i < 2; ++i) {
            MPI_Isend(sent.ints() + i, learned_count, MPI_INT, context.right(shift), learned_tag,
                      context.comm, &requests.emplace_back());
        }
    }
    std::vector<std::pair<int, int>> seen;
    std::vector<int> next(static_cast<size_t>(context.size), 0);
    for (int i = 0; i < 2 * context.size; ++i) {
        Memory received(learned_count * sizeof(int));
        MPI_Status status = fresh_status();
        int source = MPI_ANY_SOURCE;
        int tag = MPI_ANY_TAG;
        if (probes) {
            MPI_Probe(source, tag, context.comm, &status);
            source = status.MPI_SOURCE;
            tag = status.MPI_TAG;
        }
        MPI_Recv(received.data(), learned_count, MPI_INT, source, tag, context.comm, &status);
        const int from = status.MPI_SOURCE;
        const int order = next.at(static_cast<size_t>(from))++;
        seen.emplace_back(from, received.ints()[0] == 100 * from + order ? order : -1);
    }
    std::sort(seen.begin(), seen.end());
    for (const auto& [source, order] : seen) {
        context.out.value("from " + std::to_string(source), order);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    context.sync();
}

/// Whether it is found, as often as one asks, before it is received.
void probed(Context& context, bool any, bool waits) {
    for (const int shift : {3, 1, 0}) {
        context.sync();
        Memory sent = Memory::of_ints(learned_count, context.rank);
        const int source = any ? MPI_ANY_SOURCE : context.left(shift);
        const int tag = any ? MPI_ANY_TAG : learned_tag;
        int flag = -7;
        context.out.call("Iprobe", MPI_Iprobe(source, tag, context.comm, &flag, MPI_STATUS_IGNORE));
        context.out.value("flag", flag);
        context.sync();
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(sent.data(), 6, MPI_INT, context.right(shift), learned_tag, context.comm,
                  &request);
        for (int i = 0; i < 2; ++i) {
            MPI_Status status = fresh_status();
            if (waits) {
                context.out.call("Probe", MPI_Probe(source, tag, context.comm, &status));
            } else {
                for (flag = 0; flag == 0;) {
                    MPI_Iprobe(source, tag, context.comm, &flag, &status);
                }
            }
            context.out.status("probed", status);
        }
        flag = -7;
        context.out.call("Iprobe for another tag", MPI_Iprobe(context.left(shift), 77, context.comm,
                                                              &flag, MPI_STATUS_IGNORE));
        context.out.value("flag", flag);
        receive(context, source, tag);
        context.out.call("Iprobe", MPI_Iprobe(source, tag, context.comm, &flag, MPI_STATUS_IGNORE));
        context.out.value("flag", flag);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

void probe_nobody(Context& context) {
    MPI_Status status = fresh_status();
    int flag = -7;
    MPI_Message message = MPI_MESSAGE_NULL;
    context.out.call("Probe", MPI_Probe(MPI_PROC_NULL, learned_tag, context.comm, &status));
    context.out.status("status", status);
    status = fresh_status();
    context.out.call("Iprobe", MPI_Iprobe(MPI_PROC_NULL, 3, context.comm, &flag, &status));
    context.out.value("flag", flag);
    context.out.status("status", status);
    for (const bool waits : {true, false}) {
        status = fresh_status();
        if (waits) {
            context.out.call("Mprobe",
                             MPI_Mprobe(MPI_PROC_NULL, 3, context.comm, &message, &status));
        } else {
            context.out.call("Improbe",
                             MPI_Improbe(MPI_PROC_NULL, 3, context.comm, &flag, &message, &status));
        }
        context.out.status("status", status);
        context.out.value("is no process", message == MPI_MESSAGE_NO_PROC ? 1 : 0);
        Memory received(learned_count * sizeof(int));
        MPI_Request request = MPI_REQUEST_NULL;
        status = fresh_status();
        if (waits) {
            context.out.call("Mrecv", MPI_Mrecv(received.data(), 3, MPI_INT, &message, &status));
        } else {
            context.out.call("Imrecv", MPI_Imrecv(received.data(), 3, MPI_INT, &message, &request));
            context.out.call("Wait", MPI_Wait(&request, &status));
        }
        context.out.status("status", status);
        context.out.value("is null", message == MPI_MESSAGE_NULL ? 1 : 0);
        context.out.data("received", received);
    }
}

/// Some messages by name, the others by wildcards, while both kinds are sent to and fro.
void wildcard_beside_named(Context& context) {
    for (const int shift : {3, 1}) {
        context.sync();
        Memory sent = Memory::of_ints(2 * learned_count, 100 * context.rank);
        std::vector<Memory> received(4, Memory(learned_count * sizeof(int)));
        std::vector<MPI_Request> requests;
        const auto receive_begin = [&](int i, int source, int tag) {
            MPI_Irecv(received[static_cast<size_t>(i)].data(), learned_count, MPI_INT, source, tag,
                      context.comm, &requests.emplace_back());
        };
        receive_begin(0, context.left(shift), learned_tag);
        receive_begin(1, MPI_ANY_SOURCE, learned_tag);
        receive_begin(2, context.left(shift), learned_tag);
        receive_begin(3, MPI_ANY_SOURCE, MPI_ANY_TAG);
        for (int i = 0; i < 4; ++i) {
            MPI_Send(sent.ints() + i, learned_count, MPI_INT, context.right(shift), learned_tag,
                     context.comm);
        }
        std::vector<MPI_Status> statuses(4, fresh_status());
        context.out.call("Waitall", MPI_Waitall(4, requests.data(), statuses.data()));
        for (size_t i = 0; i < 4; ++i) {
            context.out.status("status", statuses[i]);
            context.out.data("received", received[i]);
        }
        context.sync();
    }
}

} // namespace

void add_receiving(Cases& cases) {
    cases.group("receiving");
    cases.add("by_tag", Needs::shared, by_tag);
    cases.add("any_tag", Needs::shared, any_tag);
    cases.add("any_source", Needs::shared, any_source<false>);
    cases.add("anything", Needs::shared, any_source<true>);
    cases.add("posted_early", Needs::shared, posted_early);
    cases.add("from_everybody", Needs::shared, [](Context& c) { from_everybody(c, false); });
    cases.add("from_everybody.probed", Needs::shared, [](Context& c) { from_everybody(c, true); });
    cases.add("probe.named", Needs::shared, [](Context& c) { probed(c, false, true); });
    cases.add("probe.any", Needs::shared, [](Context& c) { probed(c, true, true); });
    cases.add("iprobe.named", Needs::shared, [](Context& c) { probed(c, false, false); });
    cases.add("iprobe.any", Needs::shared, [](Context& c) { probed(c, true, false); });
    cases.add("probe.nobody", Needs::shared, probe_nobody);
    cases.add("wildcard_beside_named", Needs::shared, wildcard_beside_named);
    cases.add("world.by_tag", Needs::world, by_tag);
    cases.add("world.any_tag", Needs::world, any_tag);
    cases.add("world.posted_early", Needs::world, posted_early);
    cases.add("world.probe", Needs::world, [](Context& c) { probed(c, false, true); });
}

} // namespace nodeaware::conformance
