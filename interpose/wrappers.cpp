// The MPI functions that applications call. Each passes its arguments to the core and, if the core
// leaves the call to MPI, on to the next definition of the function.

#include "interpose/passed.hpp"
#include "interpose/wrapping.hpp"

namespace nodeaware::abi {

using namespace nodeaware::interpose;

namespace {

template <class... Words> Word last(Words... words) {
    const Word all[] = {words...};
    return all[sizeof...(words) - 1];
}
template <class... Words> Word first(Word first_word, Words... /*others*/) { return first_word; }
template <class... Words> Word last_but_one(Words... words) {
    const Word all[] = {words...};
    return all[sizeof...(words) - 2];
}
MPI_Comm communicator(Word word) { return reinterpret_cast<MPI_Comm>(word); }

/// The arguments of a collective, of which the table tells what it passes.
template <size_t size> class PassedWords {
  public:
    PassedWords(const PassedAt& at, bool are_large, const Word (&words)[size])
        : at_(at), are_large_(are_large), words_(words) {}
    Passed read() const { return read_passed(at_, are_large_, *this); }

    /// Registers that are wider than an int have anything above it.
    int integer(int i) const { return static_cast<int>(words_[i]); }
    MPI_Count count(int i) const {
        return are_large_ ? static_cast<MPI_Count>(words_[i]) : integer(i);
    }
    MPI_Datatype type(int i) const { return reinterpret_cast<MPI_Datatype>(words_[i]); }
    const void* array(int i) const { return reinterpret_cast<const void*>(words_[i]); }
    const void* buffer(int i) const { return array(i); }

  private:
    const PassedAt& at_;
    const bool are_large_;
    const Word (&words_)[size];
};

template <bool is_large>
Reduction reduction(Word sent, Word received, Word count, Word type, Word op, Word /*comm*/) {
    return {reinterpret_cast<const void*>(sent), reinterpret_cast<void*>(received),
            is_large ? static_cast<MPI_Count>(count) : static_cast<int>(count),
            reinterpret_cast<MPI_Datatype>(type), reinterpret_cast<MPI_Op>(op)};
}

/// Tells of a collective that MPI has returned from.
#define TELL_PASSED(told, name, count, result, comm)                                               \
    [&] {                                                                                          \
        static constexpr PassedAt at = passed_by(#name);                                           \
        const Word words[] = {A##count};                                                           \
        return told.done(result, comm, PassedWords(at, has_large_counts(#name), words));           \
    }()

} // namespace

#define WRAP_EXCHANGE(symbol, name, parameters, arguments)                                         \
    EXPORTED int symbol parameters {                                                               \
        static constinit Next<int parameters> next(#symbol);                                       \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        const Core* core = active_core(__builtin_return_address(0));                               \
        if (core == nullptr) { return next.get() arguments; }                                      \
        const Inside inside;                                                                       \
        int result = 0;                                                                            \
        if (core->name(&result, NODEAWARE_LIST arguments)) { return result; }                      \
        result = next.get() arguments;                                                             \
        core->native_done(result);                                                                 \
        return result;                                                                             \
    }

#define EXCHANGE(name, parameters, arguments) WRAP_EXCHANGE(MPI_##name, name, parameters, arguments)
#define EXTENSION(name, parameters, arguments)                                                     \
    WRAP_EXCHANGE(MPIX_##name, name, parameters, arguments)

/// Where the core does not see messages, calls that wait for some are BLOCKING.
#define POINT_TO_POINT(name, parameters, arguments)                                                \
    WRAP_SELDOM(                                                                                   \
        MPI_##name, parameters, arguments,                                                         \
        is_any(activity.messages) || (!is_local(#name) && is_any(activity.pending_work)),          \
        if (is_any(activity.messages)) {                                                           \
            const Inside inside;                                                                   \
            return core->name arguments;                                                           \
        } if (!is_local(#name)) {                                                                  \
            const BlockingCall blocking(*core);                                                    \
            return next arguments;                                                                 \
        })

#define REQUESTS(name, parameters, arguments)                                                      \
    WRAP_SELDOM(                                                                                   \
        MPI_##name, parameters, arguments, is_any(activity.requests),                              \
        if (is_any(activity.requests)) {                                                           \
            const Inside inside;                                                                   \
            return core->name arguments;                                                           \
        })

#define MEETING(name, count)                                                                       \
    WRAP_SELDOM(                                                                                   \
        MPI_##name, (W##count), (A##count),                                                        \
        is_any(activity.meetings) || is_any(activity.pending_work) || is_any(activity.told_calls), \
        const MPI_Comm comm = communicator(last(A##count));                                        \
        const auto call_mpi =                                                                      \
            [&] {                                                                                  \
                const ToldCall told(*core, "MPI_" #name);                                          \
                return TELL_PASSED(told, name, count, next(A##count), comm);                       \
            };                                                                                     \
        return around_meeting(*core, call_mpi, [&] { return comm; });)

#define REDUCTION(name, count)                                                                     \
    WRAP_SELDOM(                                                                                   \
        MPI_##name, (W##count), (A##count),                                                        \
        is_any(activity.reductions) || is_any(activity.meetings) ||                                \
            is_any(activity.pending_work) || is_any(activity.told_calls),                          \
        const MPI_Comm comm = communicator(last(A##count));                                        \
        const auto call_either =                                                                   \
            [&] {                                                                                  \
                const ToldCall told(*core, "MPI_" #name);                                          \
                const int code = reduce(*core, reduction<has_large_counts(#name)>(A##count), comm, \
                                        [&] { return next(A##count); });                           \
                return TELL_PASSED(told, name, count, code, comm);                                 \
            };                                                                                     \
        return around_meeting(*core, call_either, [&] { return comm; });)

/// The guard is not held during MPI's call, in which attributes of the application may be deleted:
/// its callbacks may do what they like.
#define BLOCKING(name, count)                                                                      \
    WRAP_SELDOM(MPI_##name, (W##count), (A##count),                                                \
                is_any(activity.pending_work) || is_any(activity.told_calls),                      \
                const BlockingCall blocking(*core);                                                \
                const ToldCall told(*core, "MPI_" #name); return told.done(next(A##count));)

#define COLLECTIVE(name, count)                                                                    \
    WRAP_SELDOM(MPI_##name, (W##count), (A##count),                                                \
                is_any(activity.pending_work) || is_any(activity.told_calls),                      \
                const BlockingCall blocking(*core);                                                \
                const MPI_Comm comm = communicator(last(A##count));                                \
                const ToldCall told(*core, "MPI_" #name);                                          \
                return TELL_PASSED(told, name, count, next(A##count), comm);)

#define BEGUN(name, count)                                                                         \
    WRAP_SELDOM(MPI_##name, (W##count), (A##count), is_any(activity.told_calls),                   \
                const MPI_Comm comm = communicator(last_but_one(A##count));                        \
                const ToldCall told(*core, "MPI_" #name);                                          \
                return TELL_PASSED(told, name, count, next(A##count), comm);)

#define SHARING(name, count)                                                                       \
    WRAP_SELDOM(MPI_##name, (W##count), (A##count), true, before_sharing(*core);                   \
                const BlockingCall blocking(*core); const ToldCall told(*core, "MPI_" #name);      \
                return told.done(next(A##count));)

#define ATTACHING(name, count)                                                                     \
    WRAP_SELDOM(MPI_##name, (W##count), (A##count), true, const BlockingCall blocking(*core);      \
                const ToldCall told(*core, "MPI_" #name);                                          \
                return attached(*core, told.done(next(A##count)));)

#define DETACHING(name, count)                                                                     \
    WRAP_SELDOM(MPI_##name, (W##count), (A##count), true, before_detaching(*core);                 \
                const BlockingCall blocking(*core); const ToldCall told(*core, "MPI_" #name);      \
                return told.done(next(A##count));)

/// Where MPI's functions on files are written with other MPI functions, those are not the
/// application's.
#define IO(name, count)                                                                            \
    EXPORTED int MPI_##name(W##count) {                                                            \
        static constinit Next<int(W##count)> next("MPI_" #name);                                   \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        const Core* core = active_core(__builtin_return_address(0));                               \
        if (core == nullptr) { return next.get()(A##count); }                                      \
        before_blocking(*core);                                                                    \
        const Inside inside;                                                                       \
        const ToldCall told(*core, "MPI_" #name);                                                  \
        return told.done(next.get()(A##count));                                                    \
    }

/// `make` is how the communicator is made.
#define WRAP_CREATION(name, count, make)                                                           \
    EXPORTED int MPI_##name(W##count) {                                                            \
        static constinit Next<int(W##count)> next("MPI_" #name);                                   \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        const Core* core = active_core(__builtin_return_address(0));                               \
        if (core == nullptr) { return next.get()(A##count); }                                      \
        const Outcome outcome;                                                                     \
        const int result = [&] {                                                                   \
            const BlockingCall blocking(*core);                                                    \
            const MPI_Comm parent = communicator(first(A##count));                                 \
            const ToldCall told(*core, "MPI_" #name);                                              \
            const int code = told.done(make, &parent);                                             \
            if (outcome.of(code) != 0) { core->not_created(); }                                    \
            return code;                                                                           \
        }();                                                                                       \
        if (outcome.of(result) != 0) { return result; }                                            \
        return announce_created(*core, first(A##count), last(A##count));                           \
    }

#define CREATION(name, count) WRAP_CREATION(name, count, next.get()(A##count))
#define GRID(name, count) WRAP_CREATION(name, count, make_grid(*core, next.get(), A##count))

#define GRAPH(name, count) WRAP_CREATION(name, count, make_graph(*core, next.get(), A##count))

#define GRID_MAP(name, count)                                                                      \
    EXPORTED int MPI_##name(W##count) {                                                            \
        static constinit Next<int(W##count)> next("MPI_" #name);                                   \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        const Core* core = active_core(__builtin_return_address(0));                               \
        const int result = next.get()(A##count);                                                   \
        return core == nullptr || result != 0 ? result : map_grid(*core, A##count);                \
    }

#define BEGINNING(name, count)                                                                     \
    WRAP_SELDOM(MPI_##name, (W##count), (A##count), true, core->communicator_begun();)

#define ENDING(name, count)                                                                        \
    EXPORTED int MPI_##name(W##count) {                                                            \
        static constinit Next<int(W##count)> next("MPI_" #name);                                   \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        before_end(true);                                                                          \
        return next.get()(A##count);                                                               \
    }

#define LIFECYCLE(name, parameters, arguments)                                                     \
    EXPORTED int MPI_##name parameters {                                                           \
        static constinit Next<int parameters> next("MPI_" #name);                                  \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        const int result = next.get() arguments;                                                   \
        if (result == 0) { start_core(); }                                                         \
        return result;                                                                             \
    }

namespace {

int announce_created(const Core& core, Word parent, Word created) {
    const Inside inside;
    return core.created(communicator(parent), reinterpret_cast<MPI_Comm*>(created));
}

const int* integers(Word word) { return reinterpret_cast<const int*>(word); }

template <class Function>
int make_grid(const Core& core, Function* next, Word comm, Word dimensions, Word sizes,
              Word periods, Word may_reorder, Word made) {
    {
        const Inside inside;
        int result = 0;
        if (core.make_grid(&result, communicator(comm), static_cast<int>(dimensions),
                           integers(sizes), integers(periods), static_cast<int>(may_reorder),
                           reinterpret_cast<MPI_Comm*>(made))) {
            return result;
        }
    }
    return next(comm, dimensions, sizes, periods, may_reorder, made);
}

template <class Function>
int make_graph(const Core& core, Function* next, Word comm, Word nodes, Word sources, Word degrees,
               Word destinations, Word weights, Word info, Word may_reorder, Word made) {
    {
        const Inside inside;
        int result = 0;
        if (core.make_graph(&result, communicator(comm), static_cast<int>(nodes), integers(sources),
                            integers(degrees), integers(destinations), integers(weights),
                            reinterpret_cast<MPI_Info>(info), static_cast<int>(may_reorder),
                            reinterpret_cast<MPI_Comm*>(made))) {
            return result;
        }
    }
    return next(comm, nodes, sources, degrees, destinations, weights, info, may_reorder, made);
}

int map_grid(const Core& core, Word comm, Word dimensions, Word sizes, Word periods, Word rank) {
    const Inside inside;
    return core.map_grid(communicator(comm), static_cast<int>(dimensions), integers(sizes),
                         integers(periods), reinterpret_cast<int*>(rank));
}

} // namespace

#include "interpose/functions.def"

} // namespace nodeaware::abi
