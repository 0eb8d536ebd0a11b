#pragma once

#include "interpose/next.hpp"

#include <string_view>

/// What wrappers of C functions are made of, for those that include functions.def.

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace nodeaware::interpose {

/// An argument of a function that is not looked into.
using Word = uintptr_t;
static_assert(sizeof(Word) >= sizeof(abi::MPI_Offset) && sizeof(Word) >= sizeof(abi::MPI_Count));

/// Where the kind of a function does not tell: it begins something that another one completes.
consteval bool only_begins(std::string_view name) {
    const bool probes = name.find("probe") != std::string_view::npos;
    return (name.starts_with('I') && !probes) || name.starts_with("Start");
}

/// It does not wait.
consteval bool is_local(std::string_view name) {
    return only_begins(name) || name.find("_init") != std::string_view::npos || name == "Cancel" ||
           name == "Request_free";
}

} // namespace nodeaware::interpose

#define W0
#define W1 Word a1
#define W2 W1, Word a2
#define W3 W2, Word a3
#define W4 W3, Word a4
#define W5 W4, Word a5
#define W6 W5, Word a6
#define W7 W6, Word a7
#define W8 W7, Word a8
#define W9 W8, Word a9
#define W10 W9, Word a10
#define W11 W10, Word a11
#define A0
#define A1 a1
#define A2 A1, a2
#define A3 A2, a3
#define A4 A3, a4
#define A5 A4, a5
#define A6 A5, a6
#define A7 A6, a7
#define A8 A7, a8
#define A9 A8, a9
#define A10 A9, a10
#define A11 A10, a11

/// A function that is mostly not wanted: then it costs a few loads and a jump to MPI's, without a
/// frame. Otherwise it jumps to another one, whose caller is then its own. `next` is MPI's own
/// call. The last arguments are what to do where it is wanted; they return what the function is to
/// return, or leave that to MPI's own call after them.
#define WRAP_SELDOM(symbol, parameters, arguments, wanted, ...)                                    \
    namespace {                                                                                    \
    constinit Next<int parameters> next_##symbol(#symbol);                                         \
    [[gnu::noinline]] int serve_##symbol parameters {                                              \
        auto* const next = next_##symbol.get();                                                    \
        if (next == nullptr) { return no_mpi; }                                                    \
        if (const Core* core = active_core(__builtin_return_address(0))) { __VA_ARGS__ }           \
        return next arguments;                                                                     \
    }                                                                                              \
    }                                                                                              \
    EXPORTED int symbol parameters {                                                               \
        if ((wanted) || next_##symbol.known() == nullptr) [[unlikely]] {                           \
            return serve_##symbol arguments;                                                       \
        }                                                                                          \
        return next_##symbol.known() arguments;                                                    \
    }
