#pragma once

#include <cstddef>

namespace scripted {

/// Stack of a rank. AddressSanitizer is told when another one is used.
class Stack {
  public:
    static constexpr size_t size = size_t{1} << 20;

    Stack();
    ~Stack();
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;
    void* data() const { return memory_; }

    /// Around a switch to a stack; `fake` is kept on the one that is left.
    static void begin_switch(void** fake, const void* bottom, size_t bytes);
    /// Back to the stack outside of all ranks.
    static void begin_switch_outside(void** fake);
    static void finish_switch(void* fake);

  private:
    void* memory_;
};

} // namespace scripted
