#pragma once

#include "runtime/progress/backoff.hpp"
#include "runtime/progress/turn.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

namespace nodeaware {

/// Something of the library that goes on between the calls of the application.
class WorkSource {
  public:
    WorkSource() = default;
    WorkSource(const WorkSource&) = delete;
    WorkSource& operator=(const WorkSource&) = delete;
    virtual ~WorkSource() = default;

    /// Something is under way: ranks that wait have to call advance().
    virtual bool is_busy() const = 0;
    /// Does what can be done now. Never waits. Throws MpiError.
    virtual void advance() = 0;
    /// This rank may be away in MPI, or outside of it, for long: what others need of it must leave.
    virtual void before_blocking() {}
    /// This rank waits in the library from now on, or does no more.
    virtual void set_waiting(bool /*waits*/) {}
    /// In wait_until(), instead of set_waiting(): what this rank would have waited for is there. So
    /// it has done what it does before it waits, and goes on. Not called where it waits for a send,
    /// behind which more may follow at once.
    virtual void need_not_wait() {}
    /// This rank has tested requests of the application once, after advance(). `in_vain`: it was
    /// told that they are not over, and may test again or do something else. May be called while it
    /// waits, for that is done by tests as well.
    virtual void has_looked(bool /*in_vain*/) {}
};

/// The progress core: whoever waits in the library waits here, so that all of it goes on meanwhile.
/// Sources are added and removed while one thread at a time calls MPI; they are called by one
/// thread at a time, which holds a Turn, and gives it up while it rests.
class Progress {
  public:
    /// More ranks than cores: waiting must leave the core to others at once.
    void set_oversubscribed(bool oversubscribed) { oversubscribed_ = oversubscribed; }
    bool is_oversubscribed() const { return oversubscribed_; }

    void add(WorkSource& source) { sources_.push_back(&source); }
    void remove(WorkSource& source);

    bool is_busy() const;
    void advance();
    /// Inside an operation whose end others wait for, so that this rank must get there whatever
    /// becomes of its messages: the next advance() tells what has failed.
    void advance_inside() noexcept;
    /// Before what may need no waiting: no more than a fifth of the time is spent so. MPIs take
    /// long to look for messages where thousands of others wait to be received. Not for calls that
    /// tell what has come.
    void advance_in_passing();
    void before_blocking();
    /// The next advance() tells what has failed.
    void before_blocking_later() noexcept;

    /// Calls advance() and `ready` until that is true. Whoever can wait for a bell as well uses a
    /// Waiter, which also notices crowded cores.
    /// `is_for_send`: more sends may follow at once.
    template <class Ready> void wait_until(Ready ready, bool is_for_send = false) {
        const Turn turn;
        if (is_for_send) {
            advance_in_passing();
            if (ready()) { return; }
        } else if (waits_in_passing(ready)) {
            for (WorkSource* source : sources_) { source->need_not_wait(); }
            return;
        }
        const Waiting waiting(*this);
        for (uint32_t round = 0;; ++round) {
            advance();
            if (ready()) { return; }
            rest(round);
        }
    }

    /// While one lives, this rank waits, if other threads of it do not all the same.
    class Waiting {
      public:
        explicit Waiting(Progress& progress) : progress_(progress) {
            ++progress_.waiting_;
            for (WorkSource* source : progress_.sources_) { source->set_waiting(true); }
        }
        ~Waiting() {
            if (--progress_.waiting_ > 0 && Turn::are_taken()) { return; }
            for (WorkSource* source : progress_.sources_) { source->set_waiting(false); }
        }
        Waiting(const Waiting&) = delete;
        Waiting& operator=(const Waiting&) = delete;

      private:
        Progress& progress_;
    };

    /// After each test of requests, for a program that tests again and again waits, too.
    void has_looked(bool in_vain) {
        const Turn turn;
        for (WorkSource* source : sources_) { source->has_looked(in_vain); }
    }

    /// After the `round`-th look in vain. Threads that wait look in turn.
    void rest(uint32_t round) const {
        const Turn::Away away;
        const bool others_wait = Turn::are_taken() && waiting_.load(std::memory_order_relaxed) > 1;
        if (others_wait || Turn::is_wanted()) { return backoff::step_aside(round); }
        backoff::pause(round, oversubscribed_);
    }

  private:
    /// A first look, from whose beginning on this rank waits: it may take long until that returns,
    /// and what others wait for is whether this one has more to send.
    template <class Ready> bool waits_in_passing(Ready& ready) {
        const Waiting waiting(*this);
        advance_in_passing();
        return ready();
    }

    void keep(std::exception_ptr failure);
    void tell_of_failure();

    std::vector<WorkSource*> sources_;
    std::atomic<int> waiting_ = 0; ///< Waiting that live
    bool oversubscribed_ = false;
    std::mutex failed_mutex_;
    std::exception_ptr failed_;
    std::atomic<bool> has_failed_ = false;
    std::atomic<double> next_in_passing_ = 0; ///< threads may wait at the same time
};

} // namespace nodeaware
