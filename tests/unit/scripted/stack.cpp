#include "tests/unit/scripted/stack.hpp"

#include <new>
#include <sys/mman.h>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace scripted {

namespace {

/// Those that are not in use: there are many short jobs.
std::vector<void*> spare;

#ifdef __SANITIZE_ADDRESS__
const void* outside_bottom = nullptr;
size_t outside_bytes = 0;
bool is_outside_known = false;
#endif

} // namespace

Stack::Stack() : memory_(nullptr) {
    if (!spare.empty()) {
        memory_ = spare.back();
        spare.pop_back();
        return;
    }
    memory_ = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory_ == MAP_FAILED) { throw std::bad_alloc(); }
}

Stack::~Stack() {
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(memory_, size);
#endif
    spare.push_back(memory_);
}

#ifdef __SANITIZE_ADDRESS__

void Stack::begin_switch(void** fake, const void* bottom, size_t bytes) {
    is_outside_known = false;
    __sanitizer_start_switch_fiber(fake, bottom, bytes);
}

void Stack::begin_switch_outside(void** fake) {
    is_outside_known = true;
    __sanitizer_start_switch_fiber(fake, outside_bottom, outside_bytes);
}

void Stack::finish_switch(void* fake) {
    const void* bottom = nullptr;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(fake, &bottom, &bytes);
    if (!is_outside_known) { // a rank has begun or goes on: it was called from outside
        outside_bottom = bottom;
        outside_bytes = bytes;
    }
}

#else

void Stack::begin_switch(void** /*fake*/, const void* /*bottom*/, size_t /*bytes*/) {}
void Stack::begin_switch_outside(void** /*fake*/) {}
void Stack::finish_switch(void* /*fake*/) {}

#endif

} // namespace scripted
