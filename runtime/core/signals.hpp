#pragma once

/// Signals that end a program.
namespace nodeaware::signals {

/// Calls `work` with the number of a signal that ends the program, or that a handler of the program
/// takes for its end, in a thread of its own while the handler waits, but not for long; the
/// program's own handler, or the default, comes after it. Signals that are ignored stay so, and a
/// handler that the program installs later takes the place of this one. Without effect where there
/// is no thread to be had.
void open(void (*work)(int number));
/// Leaves the signals as they were.
void close();

} // namespace nodeaware::signals
