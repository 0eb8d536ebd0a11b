// The application's own functions that MPI calls in the midst of its own: error handlers, and what
// belongs to attributes and generalized requests. They are part of the application wherever MPI
// calls them, also inside the library, and what they call is to come to the wrappers as anywhere
// else. Those of Fortran are called otherwise, and stay with MPI (around_callbacks in
// fortran_functions.cpp).

#include "interpose/wrapping.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <sched.h>
#include <utility>

namespace nodeaware::abi {

using namespace nodeaware::interpose;

namespace {

using Handler = void(MPI_Comm*, int*, ...);

/// MPI tells a handler nothing of itself, so there is a function for each; programs have few.
constexpr std::size_t most_handlers = 256;
constinit std::array<std::atomic<Handler*>, most_handlers> handlers{};

/// What comes behind the first two arguments is the MPI's own affair, and in registers.
template <std::size_t index>
void call_handler(MPI_Comm* comm, int* code, Word third, Word fourth, Word fifth, Word sixth) {
    tell_error(*code);
    Application application;
    application.run([&] {
        handlers[index].load(std::memory_order_relaxed)(comm, code, third, fourth, fifth, sixth);
    });
}

using Stub = void(MPI_Comm*, int*, Word, Word, Word, Word);
template <std::size_t... index>
constexpr std::array<Stub*, most_handlers> stubs_of(std::index_sequence<index...> /*all*/) {
    return {call_handler<index>...};
}
constexpr auto stubs = stubs_of(std::make_index_sequence<most_handlers>{});

/// What MPI is to call instead; the handler itself if there are too many.
Handler* stub_of(Handler* handler) {
    for (std::size_t i = 0; handler != nullptr && i < most_handlers; ++i) {
        Handler* known = nullptr;
        const bool is_new = handlers[i].compare_exchange_strong(known, handler);
        if (is_new || known == handler) { return reinterpret_cast<Handler*>(stubs[i]); }
    }
    return handler;
}

/// What belongs to a kind of attributes.
struct Attributes {
    int (*copy)(Word, int, void*, void*, void*, int*);
    int (*remove)(Word, int, void*, void*);
    void* state;

    bool operator==(const Attributes&) const = default;
};

/// MPI keeps a kind as long as any attribute of it, and tells nobody when it is gone. So these
/// stay, each once, for programs that make the same again and again.
struct Kind {
    Attributes attributes;
    Kind* next;
};
constexpr std::size_t kind_lists = 65536; ///< some programs have a state for each object
constinit std::array<Kind*, kind_lists> kinds{};
constinit std::atomic_flag adds_kind;

std::size_t list_of(const Attributes& kind) {
    std::uintptr_t hash = 0;
    for (const auto part : {reinterpret_cast<std::uintptr_t>(kind.copy),
                            reinterpret_cast<std::uintptr_t>(kind.remove),
                            reinterpret_cast<std::uintptr_t>(kind.state)}) {
        hash = (hash ^ part) * 0x9e3779b97f4a7c15U;
    }
    return (hash >> 32U) % kind_lists;
}

/// nullptr if there is no memory.
Attributes* kept(const Attributes& kind) {
    while (adds_kind.test_and_set(std::memory_order_acquire)) { sched_yield(); }
    Kind*& first = kinds[list_of(kind)];
    Kind* known = first;
    while (known != nullptr && !(known->attributes == kind)) { known = known->next; }
    if (known == nullptr) {
        known = static_cast<Kind*>(std::malloc(sizeof(Kind)));
        if (known != nullptr) { first = new (known) Kind{kind, first}; }
    }
    adds_kind.clear(std::memory_order_release);
    return known == nullptr ? nullptr : &known->attributes;
}

/// Predefined functions may be null pointers: nothing is copied, and nothing done at the end. In
/// the standard's binary interface (MPI 5.0, chapter 20) those that copy the value are the
/// address 1.
int copy_attribute(Word object, int key, void* kind, void* in, void* out, int* is_copied) {
    Application application;
    const auto* const of = static_cast<const Attributes*>(kind);
    *is_copied = 0;
    int result = 0;
    if (of->copy == nullptr) { return result; }
    if (reinterpret_cast<std::uintptr_t>(of->copy) == 1) {
        *static_cast<void**>(out) = in;
        *is_copied = 1;
        return result;
    }
    application.run([&] { result = of->copy(object, key, of->state, in, out, is_copied); });
    return result;
}

int remove_attribute(Word object, int key, void* value, void* kind) {
    Application application;
    const auto* const of = static_cast<const Attributes*>(kind);
    int result = 0;
    if (of->remove == nullptr) { return result; }
    application.run([&] { result = of->remove(object, key, value, of->state); });
    return result;
}

struct Request {
    int (*query)(void*, void*);
    int (*free)(void*);
    int (*cancel)(void*, int);
    void* state;
};

int query_request(void* request, void* status) {
    Application application;
    const auto* const of = static_cast<const Request*>(request);
    int result = 0;
    application.run([&] { result = of->query(of->state, status); });
    return result;
}

int free_request(void* request) {
    Application application;
    auto* const of = static_cast<Request*>(request);
    int result = 0;
    application.run([&] { result = of->free(of->state); });
    std::free(of);
    return result;
}

int cancel_request(void* request, int is_complete) {
    Application application;
    const auto* const of = static_cast<const Request*>(request);
    int result = 0;
    application.run([&] { result = of->cancel(of->state, is_complete); });
    return result;
}

} // namespace

#define CREATES_HANDLER(symbol)                                                                    \
    EXPORTED int symbol(Handler* handler, Word made) {                                             \
        static constinit Next<int(Handler*, Word)> next(#symbol);                                  \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        return next.get()(active_core() != nullptr ? stub_of(handler) : handler, made);            \
    }

CREATES_HANDLER(MPI_Comm_create_errhandler)
CREATES_HANDLER(MPI_Errhandler_create)
CREATES_HANDLER(MPI_File_create_errhandler)
CREATES_HANDLER(MPI_Session_create_errhandler)
CREATES_HANDLER(MPI_Win_create_errhandler)

#define CREATES_KEY(symbol)                                                                        \
    EXPORTED int symbol(int (*copy)(Word, int, void*, void*, void*, int*),                         \
                        int (*remove)(Word, int, void*, void*), int* key, void* state) {           \
        static constinit Next<decltype(symbol)> next(#symbol);                                     \
        if (next.get() == nullptr) { return no_mpi; }                                              \
        Attributes* const kind = active_core() != nullptr ? kept({copy, remove, state}) : nullptr; \
        if (kind == nullptr) { return next.get()(copy, remove, key, state); }                      \
        return next.get()(copy_attribute, remove_attribute, key, kind);                            \
    }

CREATES_KEY(MPI_Comm_create_keyval)
CREATES_KEY(MPI_Keyval_create)
CREATES_KEY(MPI_Type_create_keyval)
CREATES_KEY(MPI_Win_create_keyval)

EXPORTED int MPI_Grequest_start(int (*query)(void*, void*), int (*free)(void*),
                                int (*cancel)(void*, int), void* state, Word made) {
    using Start = int(int (*)(void*, void*), int (*)(void*), int (*)(void*, int), void*, Word);
    static constinit Next<Start> next("MPI_Grequest_start");
    if (next.get() == nullptr) { return no_mpi; }
    const bool is_known = query != nullptr && free != nullptr && cancel != nullptr;
    auto* const request = active_core() != nullptr && is_known
                              ? static_cast<Request*>(std::malloc(sizeof(Request)))
                              : nullptr;
    if (request == nullptr) { return next.get()(query, free, cancel, state, made); }
    *request = {query, free, cancel, state};
    const int result = next.get()(query_request, free_request, cancel_request, request, made);
    if (result != 0) { std::free(request); }
    return result;
}

} // namespace nodeaware::abi
