#include "runtime/core/kept_exceptions.hpp"

#include "runtime/progress/activity.hpp"

#include <cxxabi.h>
#include <exception>
#include <memory>

namespace nodeaware::kept_exceptions {

/// The end of a thread passes.
void* call_and_keep(void (*function)(void*), void* argument, int blocking) {
    try {
        function(argument);
        return nullptr;
    } catch (const __cxxabiv1::__forced_unwind&) { // pthread_exit and its kin
        activity.blocking_calls.fetch_sub(blocking);
        throw;
    } catch (...) { return new std::exception_ptr(std::current_exception()); }
}

void throw_kept(void* kept) {
    const std::unique_ptr<std::exception_ptr> thrown(static_cast<std::exception_ptr*>(kept));
    if (*thrown != nullptr) { std::rethrow_exception(*thrown); } // else not of C++
}

} // namespace nodeaware::kept_exceptions
