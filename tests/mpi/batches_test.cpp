// batches_test PHASES [SEED] [--delays]
//
// Messages that repeat, as those of a stencil or a multigrid code do, with and without deviations,
// each exchange followed by a blocking collective call: every byte and every status must be what
// MPI promises. All ranks draw the same plan from plan_; how a rank sends, receives and completes
// it draws from own_.

#include "tests/mpi/batches_receive.hpp"
#include "tests/mpi/batches_shift.hpp"

namespace nodeaware::test {

namespace {

class Phases {
  public:
    Phases(Harness& harness, uint64_t seed, bool delays)
        : log_{harness}, plan_(seed), own_(seed * 1000 + static_cast<uint64_t>(harness.rank()) + 1),
          delays_(delays, own_()) {
        const int rank = harness.rank();
        MPI_Comm_dup(MPI_COMM_WORLD, &dup_);
        MPI_Comm_dup(MPI_COMM_WORLD, &side_);
        MPI_Comm_split(MPI_COMM_WORLD, rank * 3 < harness.size() ? 0 : 1, -rank, &split_);
        MPI_Comm_split(split_, 0, 0, &split_side_);
        MPI_Buffer_attach(attached_.data(), static_cast<int>(attached_.size()));
    }
    ~Phases() {
        for (MPI_Comm* comm : {&dup_, &side_, &split_, &split_side_}) { MPI_Comm_free(comm); }
        void* buffer = nullptr;
        int size = 0;
        MPI_Buffer_detach(&buffer, &size);
        log_.expect(buffer == attached_.data(), "another buffer was detached");
    }
    Phases(const Phases&) = delete;
    Phases& operator=(const Phases&) = delete;

    void run() {
        ++log_.phase;
        Random plan(plan_());
        switch (draw(plan, 0, 5)) {
        case 0:
        case 1:
            log_.place = "world";
            exchange(plan, MPI_COMM_WORLD, side_, false);
            break;
        case 2:
            log_.place = "a dup";
            exchange(plan, dup_, side_, false);
            break;
        case 3:
            log_.place = "a split";
            exchange(plan, split_, split_side_, false);
            break;
        case 4:
            log_.place = "world, by shifts";
            shift(plan, draw(plan, 0, 1) == 0 ? MPI_COMM_WORLD : dup_);
            break;
        default: log_.place = "a new one"; exchange_on_new(plan);
        }
        void* buffer = nullptr;
        int size = 0;
        MPI_Buffer_detach(&buffer, &size);
        MPI_Buffer_attach(attached_.data(), static_cast<int>(attached_.size()));
    }

  private:
    void exchange_on_new(Random& plan) {
        MPI_Comm made = MPI_COMM_NULL;
        const bool frees = draw(plan, 0, 1) == 0;
        if (draw(plan, 0, 1) == 0) {
            MPI_Comm_dup(MPI_COMM_WORLD, &made);
        } else {
            MPI_Comm_split(MPI_COMM_WORLD, 0, -log_.harness.rank(), &made);
        }
        exchange(plan, made, side_, frees);
        if (!frees) { MPI_Comm_free(&made); }
    }

    static Wishes draw_wishes(Random& random, bool frees) {
        Wishes wishes;
        wishes.sends_may_block = frees || draw(random, 0, 1) == 0;
        wishes.patterns = draw(random, 0, 3) == 0 ? 2 : 1;
        if (draw(random, 0, 2) > 0) { wishes.deviation = draw(random, 0, 2) == 0 ? 2 : 15; }
        wishes.skips = draw(random, 0, 4) == 0;
        wishes.wavefronts = draw(random, 0, 4) == 0;
        wishes.between = draw(random, 0, 3) == 0;
        wishes.only_ints = draw(random, 0, 2) > 0;
        wishes.otherwise = !frees && !wishes.wavefronts && draw(random, 0, 5) == 0;
        wishes.goes_on = draw(random, 0, 5) == 0;
        wishes.meets_aside = draw(random, 0, 2) == 0;
        return wishes;
    }

    static bool all_as_usual(const Iteration& iteration) {
        return std::all_of(iteration.receiving.begin(), iteration.receiving.end(),
                           [](Receiving way) { return way == Receiving::as_usual; });
    }

    static int draw_count(Random& random) {
        return draw(random, 0, 9) == 0 ? draw(random, 60, 200) : draw(random, 18, 45);
    }

    void shift(Random& random, MPI_Comm comm) {
        Shifts shifts(log_, layouts_, Random(random()), own_, delays_, comm);
        const int count = draw_count(random);
        for (log_.iteration = 1; log_.iteration <= count; ++log_.iteration) { shifts.run(); }
    }

    /// If it frees the communicator, that is what happens in the last exchange.
    void exchange(Random& random, MPI_Comm comm, MPI_Comm side, bool frees) {
        const Wishes wishes = draw_wishes(random, frees);
        const int count = wishes.between ? draw_count(random) / 2 : draw_count(random);
        int size = 0;
        MPI_Comm_size(comm, &size);
        Plan plan(random, layouts_, size, wishes);
        Exchange exchange(log_, layouts_, own_, delays_, comm, side, wishes, plan.slots());
        Iteration next = plan.next(false);
        for (log_.iteration = 1; log_.iteration <= count; ++log_.iteration) {
            const bool last = log_.iteration == count;
            Iteration now = std::move(next);
            now.frees = last && frees;
            if (!last) { next = plan.next(log_.iteration < count - 1); }
            now.goes_on = now.goes_on && !last && all_as_usual(now) && all_as_usual(next);
            exchange.run(now, last ? nullptr : &next);
        }
    }

    Log log_;
    Random plan_;
    Random own_;
    Delays delays_;
    const Layouts layouts_;
    MPI_Comm dup_ = MPI_COMM_NULL;
    MPI_Comm side_ = MPI_COMM_NULL; ///< of the same ranks
    MPI_Comm split_ = MPI_COMM_NULL;
    MPI_Comm split_side_ = MPI_COMM_NULL;
    std::vector<char> attached_ = std::vector<char>(4000000);
};

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    const int count = argc > 1 ? std::atoi(argv[1]) : 20;
    const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    const bool delays = argc > 3 && std::string(argv[3]) == "--delays";
    {
        Phases phases(harness, seed, delays);
        for (int phase = 0; phase < count; ++phase) { phases.run(); }
    }
    return harness.finish();
}
