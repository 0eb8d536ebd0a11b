// nonblocking_test [ROUNDS] [SEED]
//
// Random nonblocking and persistent exchanges, several at a time on several communicators, with
// blocking collectives and other messages between start and completion: what each receives must be
// what the native blocking operation gives for the same arguments, byte for byte, gaps included.
// All ranks draw the same plan from plan_; from own_ each rank draws what it may do as it likes.

#include "tests/mpi/nonblocking_completion.hpp"

#include <memory>
#include <unistd.h>

namespace nodeaware::test {

namespace {

void sleep_a_while(Random& own) {
    if (draw(own, 0, 5) == 0) { usleep(static_cast<useconds_t>(draw(own, 1, 2000))); }
}

/// The communicators that are there from the start.
class Pool {
  public:
    Pool(Harness& harness, Random& plan) : harness_(harness) {
        const int rank = harness.rank();
        add(MPI_COMM_WORLD);
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        add(made);
        MPI_Comm_split(MPI_COMM_WORLD, rank * 3 < harness.size() ? 0 : 1, rank, &made);
        add(made);
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &made);
        add(made);
        add_graph(plan, MPI_COMM_WORLD);
        add_graph(plan, made);
        for (int periodic = 0; periodic <= 1; ++periodic) { add_cart(periodic); }
    }
    ~Pool() {
        for (Place& place : places_) {
            PMPI_Comm_free(&place.reference);
            if (place.comm != MPI_COMM_WORLD) { MPI_Comm_free(&place.comm); }
        }
    }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    std::vector<Place>& places() { return places_; }

  private:
    Place& add(MPI_Comm comm) {
        Place place;
        place.adopt(comm);
        places_.push_back(place);
        return places_.back();
    }

    /// Random edges, several between the same ranks and from a rank to itself included; some ranks
    /// get none.
    void add_graph(Random& plan, MPI_Comm old) {
        const int size = harness_.size();
        std::vector<std::vector<int>> sources(static_cast<size_t>(size));
        std::vector<std::vector<int>> destinations(static_cast<size_t>(size));
        for (int i = draw(plan, size, 3 * size); i > 0; --i) {
            const int from = draw(plan, 1, size - 1);
            const int to = draw(plan, 0, 4) == 0 ? from : draw(plan, 0, size - 2);
            for (int copies = draw(plan, 0, 3) == 0 ? 2 : 1; copies > 0; --copies) {
                destinations[static_cast<size_t>(from)].push_back(to);
                sources[static_cast<size_t>(to)].push_back(from);
            }
        }
        int me = 0;
        PMPI_Comm_rank(old, &me);
        const std::vector<int>& in = sources[static_cast<size_t>(me)];
        const std::vector<int>& out = destinations[static_cast<size_t>(me)];
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Dist_graph_create_adjacent(old, static_cast<int>(in.size()), in.data(), MPI_UNWEIGHTED,
                                       static_cast<int>(out.size()), out.data(), MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &made);
        Place& place = add(made);
        place.has_neighbors = true;
        place.sources = in;
        place.destinations = out;
        for (size_t i = 0; i < sources.size(); ++i) {
            place.balanced = place.balanced && sources[i].size() == destinations[i].size();
        }
    }

    void add_cart(int periodic) {
        constexpr int dimensions = 2;
        std::array<int, 2> sizes = {0, 0};
        const std::array<int, 2> periods = {periodic, periodic};
        MPI_Dims_create(harness_.size(), dimensions, sizes.data());
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Cart_create(MPI_COMM_WORLD, dimensions, sizes.data(), periods.data(), 0, &made);
        Place& place = add(made);
        place.has_neighbors = true;
        place.is_grid = true;
        for (int i = 0; i < dimensions; ++i) {
            int lower = 0;
            int upper = 0;
            MPI_Cart_shift(made, i, 1, &lower, &upper);
            place.sources.insert(place.sources.end(), {lower, upper});
        }
        place.destinations = place.sources;
    }

    Harness& harness_;
    std::vector<Place> places_;
};

class Rounds {
  public:
    Rounds(Harness& harness, uint64_t seed)
        : harness_(harness), plan_(seed),
          own_(seed * 1000 + static_cast<uint64_t>(harness.rank()) + 1), pool_(harness, plan_),
          persistent_(pool_.places().size()) {}
    ~Rounds() {
        for (auto& list : persistent_) {
            while (!list.empty()) { free_persistent(list, 0); }
        }
    }
    Rounds(const Rounds&) = delete;
    Rounds& operator=(const Rounds&) = delete;

    void run() {
        early_ = draw(plan_, 0, 3) == 0;
        candidates_.clear();
        for (int i = draw(plan_, 1, 4); i > 0; --i) {
            candidates_.push_back(
                static_cast<size_t>(draw(plan_, 0, static_cast<int>(persistent_.size()) - 1)));
        }
        int left =
            draw(plan_, 1, draw(plan_, 0, 5) == 0 ? 12 : 3); // each costs a blocking one, too
        while (left > 0) {
            const int now = draw(plan_, 1, left);
            segment(now);
            left -= now;
        }
        sleep_a_while(own_);
        while (!active_.empty()) { complete_some(); }
        free_temporary();
        verify();
        free_some_persistent();
    }

  private:
    struct Start {
        Exchange* exchange;
        size_t stream; ///< the order of those with the same must be the same on all ranks
    };

    using Exchanges = std::vector<std::unique_ptr<Exchange>>;

    /// Some starts, with what follows them up to the next ones.
    void segment(int count) {
        ++segment_;
        starts_.clear();
        std::vector<size_t> fresh;
        for (int i = 0; i < count; ++i) {
            const size_t at = candidates_[static_cast<size_t>(
                draw(plan_, 0, static_cast<int>(candidates_.size()) - 1))];
            Place& place = pool_.places()[at];
            if (!place.used) { fresh.push_back(at); }
            place.used = true;
            prepare(choose(at), at);
        }
        const bool temporary = temporary_.comm == MPI_COMM_NULL && draw(plan_, 0, 9) == 0;
        const bool frees_at_once =
            temporary && !freed_communicators_are_broken && draw(plan_, 0, 1) == 0;
        if (temporary) { use_temporary(); }
        start_all();
        if (temporary && draw(plan_, 0, 1) == 0) { first_collectives(temporary_.comm); }
        if (frees_at_once) { free_temporary(); }
        // Where a library that is preloaded may set itself up: with requests outstanding.
        for (const size_t at : fresh) { first_collectives(pool_.places()[at].comm); }
        if (draw(plan_, 0, 1) == 0) { interlude(); }
    }

    /// The next exchange of a communicator of the pool.
    Exchange& choose(size_t at) {
        const Place& place = pool_.places()[at];
        Exchanges& list = persistent_[at];
        if (has_persistent && draw(plan_, 0, 2) == 0) {
            if (list.empty() || (list.size() < 4 && draw(plan_, 0, 2) == 0)) {
                list.push_back(std::make_unique<Exchange>(plan_, place, types_, true));
                if (!list.back()->left_out()) { list.back()->initialize(harness_); }
            }
            const auto which =
                static_cast<size_t>(draw(plan_, 0, static_cast<int>(list.size()) - 1));
            if (list[which]->last_segment != segment_) { return *list[which]; }
        }
        nonblocking_.push_back(std::make_unique<Exchange>(plan_, place, types_, false));
        return *nonblocking_.back();
    }

    void prepare(Exchange& exchange, size_t stream) {
        if (exchange.active) { complete({&exchange}); } // a persistent one of an earlier segment
        if (exchange.last_segment < first_segment_) { used_.push_back(&exchange); }
        exchange.last_segment = segment_;
        if (exchange.left_out()) { return; }
        exchange.renew();
        if (early_) { exchange.refer(); }
        // Persistent requests are started in any order.
        const size_t alone = pool_.places().size() + 1 + starts_.size();
        starts_.push_back({&exchange, exchange.persistent() ? alone : stream});
    }

    /// A duplicate of one of the communicators, for this round only.
    void use_temporary() {
        Place& origin = pool_.places()[candidates_.front()];
        temporary_ = origin;
        MPI_Comm_dup(origin.comm, &temporary_.comm);
        for (int i = draw(plan_, 1, 3); i > 0; --i) {
            nonblocking_.push_back(std::make_unique<Exchange>(plan_, temporary_, types_, false));
            prepare(*nonblocking_.back(), pool_.places().size());
        }
    }

    void free_temporary() {
        if (temporary_.comm != MPI_COMM_NULL) { MPI_Comm_free(&temporary_.comm); }
    }

    /// Each rank takes the communicators, and persistent requests, in its own order.
    void start_all() {
        std::vector<size_t> order;
        for (const Start& start : starts_) { order.push_back(start.stream); }
        std::shuffle(order.begin(), order.end(), own_);
        std::vector<Exchange*> batch;
        for (const size_t stream : order) {
            const auto next = std::find_if(starts_.begin(), starts_.end(), [&](const Start& start) {
                return start.stream == stream;
            });
            Exchange* exchange = next->exchange;
            starts_.erase(next);
            if (exchange->persistent()) { batch.push_back(exchange); }
            if (!exchange->persistent() || draw(own_, 0, 1) == 0) { start_batch(batch); }
            if (!exchange->persistent()) { exchange->start_nonblocking(harness_); }
            exchange->active = true;
            active_.push_back(exchange);
            sleep_a_while(own_);
        }
        start_batch(batch);
    }

    void start_batch(std::vector<Exchange*>& batch) {
        std::vector<MPI_Request> requests;
        for (const Exchange* exchange : batch) { requests.push_back(exchange->request); }
        if (batch.size() == 1 && draw(own_, 0, 1) == 0) {
            MPI_Start(&batch.front()->request);
        } else if (!batch.empty()) {
            MPI_Startall(static_cast<int>(requests.size()), requests.data());
        }
        for (size_t i = 0; i < batch.size() && i < requests.size(); ++i) {
            harness_.expect(batch[i]->request == requests[i], "a start changed a request");
        }
        batch.clear();
    }

    /// What all ranks do in this place of the plan, some after completing requests and some before.
    void interlude() {
        if (draw(own_, 0, 1) == 0) { complete_some(); }
        sleep_a_while(own_);
        const auto& places = pool_.places();
        const auto at = static_cast<size_t>(draw(plan_, 0, static_cast<int>(places.size()) - 1));
        switch (draw(plan_, 0, 3)) {
        case 0: MPI_Barrier(places[at].comm); break;
        case 1: add_up(places[at].comm); break;
        default: pass_message(draw(plan_, 1, harness_.size()));
        }
        if (draw(own_, 0, 1) == 0) { complete_some(); }
    }

    void first_collectives(MPI_Comm comm) {
        if (draw(own_, 0, 3) == 0) { complete_some(); }
        MPI_Barrier(comm);
        if (draw(own_, 0, 3) == 0) { complete_some(); }
        add_up(comm);
    }

    void add_up(MPI_Comm comm) {
        int size = 0;
        PMPI_Comm_size(comm, &size);
        const int one = 1;
        int sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        harness_.expect(sum == size, "wrong sum");
    }

    void pass_message(int distance) {
        const int size = harness_.size();
        const int to = (harness_.rank() + distance) % size;
        const int from = (harness_.rank() + size - distance) % size;
        const std::array<int, 3> sent = {harness_.rank(), segment_, distance};
        std::array<int, 3> received = {};
        std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Irecv(received.data(), 3, MPI_INT, from, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(sent.data(), 3, MPI_INT, to, 5, MPI_COMM_WORLD, &requests[1]);
        const size_t first = static_cast<size_t>(draw(own_, 0, 1));
        MPI_Wait(&requests[first], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1 - first], MPI_STATUS_IGNORE);
        harness_.expect(received == std::array{from, segment_, distance}, "wrong ring message");
    }

    /// Some of the outstanding requests, in any order.
    void complete_some() {
        std::shuffle(active_.begin(), active_.end(), own_);
        const auto count = draw(own_, 0, static_cast<int>(active_.size()));
        complete({active_.begin(), active_.begin() + count});
    }

    void complete(const std::vector<Exchange*>& chosen) {
        std::vector<MPI_Request> idle;
        for (const auto& list : persistent_) {
            for (const auto& one : list) {
                if (!one->active && !one->left_out()) { idle.push_back(one->request); }
            }
        }
        std::shuffle(idle.begin(), idle.end(), own_);
        Completion(harness_, own_, chosen, idle).run();
        std::erase_if(active_, [](const Exchange* exchange) { return !exchange->active; });
    }

    void verify() {
        for (Exchange* exchange : used_) {
            exchange->refer();
            exchange->verify(harness_);
        }
        used_.clear();
        nonblocking_.clear();
        first_segment_ = segment_ + 1;
    }

    void free_some_persistent() {
        for (auto& list : persistent_) {
            if (list.empty() || draw(plan_, 0, 9) != 0) { continue; }
            const int at = draw(plan_, 0, static_cast<int>(list.size()) - 1);
            free_persistent(list, at);
        }
    }

    void free_persistent(Exchanges& list, int at) {
        MPI_Request& request = list[static_cast<size_t>(at)]->request;
        if (request != MPI_REQUEST_NULL) { MPI_Request_free(&request); }
        harness_.expect(request == MPI_REQUEST_NULL, "a freed request is left");
        list.erase(list.begin() + at);
    }

    Harness& harness_;
    Random plan_;
    Random own_;
    const TestTypes types_;
    Pool pool_;
    std::vector<Exchanges> persistent_; ///< by communicator of the pool
    Exchanges nonblocking_;             ///< of this round
    Place temporary_;
    std::vector<size_t> candidates_; ///< communicators of this round
    std::vector<Start> starts_;
    std::vector<Exchange*> active_;
    std::vector<Exchange*> used_; ///< in the order of the plan
    bool early_ = false;          ///< native results are made before the starts
    int segment_ = 0;
    int first_segment_ = 1; ///< of this round
};

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    if (harness.size() < 3) { harness.skip("three ranks are needed"); }
    const int count = argc > 1 ? std::atoi(argv[1]) : 50;
    const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    {
        Rounds rounds(harness, seed);
        for (int round = 0; round < count; ++round) {
            const int before = harness.failures();
            rounds.run();
            if (harness.failures() > before) {
                std::fprintf(stderr, "rank %d: round %d\n", harness.rank(), round);
            }
        }
    }
    return harness.finish();
}
