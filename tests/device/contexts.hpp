#pragma once

// The contexts of the stand-in: the primary one of each device. It is there as long as it is
// retained; the next one is another.

constexpr int devices = 2;

struct Context {
    int device = 0;
    int retained = 0;
    bool is_over = false;
};

/// Of this thread; nullptr: none.
Context* current();

/// With the lock of the driver.
Context* primary_context(int device);

// What goes with a context, each said by the file that has it. With the lock of the driver.
void forget_copies(const Context* context);
void forget_pinned(const Context* context);
void forget_allocations(const Context* context);
