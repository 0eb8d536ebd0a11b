#pragma once

/// A thread that does what is left to do when the program ends, where the one that ends it may hold
/// any lock, malloc's included: in a handler of a signal, or in exit() called by one.
namespace nodeaware::signals {

/// `work`, in that thread, gets what have_done() was given. Without effect where there is no thread
/// to be had. `catches`: also the numbers of signals that end the program, or that a handler of the
/// program takes for its end; the program's own handler, or the default, comes after it. Signals
/// that are ignored stay so, and a handler that the program installs later takes the place of this
/// one.
void open(void (*work)(int what), bool catches);
/// Leaves it to the thread, and waits, but not for long: the thread may need what the caller holds.
/// `what` is not 0. False: there is no thread. To be called anywhere.
bool have_done(int what);
/// Leaves the signals as they were.
void close();

} // namespace nodeaware::signals
