#pragma once

#include "tests/mpi/nonblocking_case.hpp"

#include <thread>

namespace nodeaware::test {

/// Completes exchanges in one of many ways, with other requests among them in the same arrays.
class Completion {
  public:
    Completion(Harness& harness, Random& own, const std::vector<Exchange*>& exchanges,
               const std::vector<MPI_Request>& idle)
        : harness_(harness), own_(own), ignores_(draw(own, 0, 1) == 0) {
        for (Exchange* exchange : exchanges) { entries_.push_back({exchange->request, exchange}); }
        if (draw(own, 0, 2) == 0) { add_self_message(); }
        if (draw(own, 0, 3) == 0) { add_filler(MPI_REQUEST_NULL); }
        if (!idle.empty() && !inactive_is_broken && draw(own, 0, 2) == 0) {
            add_filler(idle.front());
        }
        std::shuffle(entries_.begin(), entries_.end(), own);
        for (const Entry& entry : entries_) { requests_.push_back(entry.before); }
        statuses_.resize(requests_.size() + 1); // an address for no requests, too
    }

    void run() {
        static constexpr std::array ways = {
            &Completion::wait,     &Completion::waitall,  &Completion::waitany,
            &Completion::test,     &Completion::testall,  &Completion::testany,
            &Completion::waitsome, &Completion::testsome, &Completion::get_status};
        const auto way = static_cast<size_t>(draw(own_, 0, static_cast<int>(ways.size()) - 1));
        (this->*ways[way])();
        for (const Entry& entry : entries_) {
            harness_.expect(entry.done || entry.filler, "a request was not completed");
        }
    }

  private:
    struct Entry {
        MPI_Request before;
        Exchange* exchange = nullptr;
        bool receive = false;
        bool filler = false;
        bool done = false;
    };

    static constexpr int tag = 29;

    void add_self_message() {
        sent_ = draw(own_, 1, 1000000);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&received_, 1, MPI_INT, harness_.rank(), tag, MPI_COMM_WORLD, &request);
        entries_.push_back({request, nullptr, true});
        MPI_Isend(&sent_, 1, MPI_INT, harness_.rank(), tag, MPI_COMM_WORLD, &request);
        entries_.push_back({request});
    }

    /// Something that has nothing to be waited for.
    void add_filler(MPI_Request request) { entries_.push_back({request, nullptr, false, true}); }

    int count() const { return static_cast<int>(requests_.size()); }
    MPI_Status* status(size_t at) { return ignores_ ? MPI_STATUS_IGNORE : &statuses_[at]; }
    MPI_Status* statuses() { return ignores_ ? MPI_STATUSES_IGNORE : statuses_.data(); }

    /// Request `at` was said to be complete; its status, if there is one, is number `status_at`.
    void complete(size_t at, size_t status_at) {
        Entry& entry = entries_[at];
        if (entry.filler) {
            harness_.expect(requests_[at] == entry.before, "an inactive request was changed");
            return;
        }
        harness_.expect(!entry.done, "a request was completed twice");
        entry.done = true;
        if (entry.exchange != nullptr) {
            harness_.expect(requests_[at] == entry.before || !entry.exchange->persistent(),
                            "a persistent request was changed");
            entry.exchange->request = requests_[at];
            entry.exchange->finish(harness_);
            if (inactive_is_broken) { requests_[at] = MPI_REQUEST_NULL; }
            return;
        }
        harness_.expect(requests_[at] == MPI_REQUEST_NULL, "a message's request is left");
        if (!entry.receive) { return; }
        harness_.expect(received_ == sent_, "wrong message");
        const MPI_Status& found = statuses_[status_at];
        harness_.expect(ignores_ || (found.MPI_SOURCE == harness_.rank() && found.MPI_TAG == tag),
                        "wrong status of a message");
    }

    bool has_persistent_one() const {
        return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
            return entry.exchange != nullptr && entry.exchange->persistent();
        });
    }

    void complete_all() {
        for (size_t i = 0; i < requests_.size(); ++i) { complete(i, i); }
    }

    void wait() {
        for (size_t i = 0; i < requests_.size(); ++i) {
            MPI_Wait(&requests_[i], status(i));
            complete(i, i);
        }
    }

    void waitall() {
        MPI_Waitall(count(), requests_.data(), statuses());
        complete_all();
    }

    void waitany() {
        for (;;) {
            int at = -1;
            MPI_Waitany(count(), requests_.data(), &at, status(0));
            if (at == MPI_UNDEFINED) { return; }
            complete(static_cast<size_t>(at), 0);
        }
    }

    void waitsome() {
        for (int found = 0;;) {
            std::vector<int> which(requests_.size(), -1);
            MPI_Waitsome(count(), requests_.data(), &found, which.data(), statuses());
            if (found == MPI_UNDEFINED) { return; }
            harness_.expect(found > 0, "MPI_Waitsome did not wait");
            complete_some(which, found);
        }
    }

    void complete_some(const std::vector<int>& which, int found) {
        for (size_t i = 0; i < static_cast<size_t>(found); ++i) {
            complete(static_cast<size_t>(which[i]), i);
        }
    }

    void test() {
        std::vector<bool> complete_ones(requests_.size(), false);
        for (size_t left = requests_.size(); left > 0; std::this_thread::yield()) {
            for (size_t i = 0; i < requests_.size(); ++i) {
                if (complete_ones[i]) { continue; }
                int flag = 0;
                MPI_Test(&requests_[i], &flag, status(i));
                if (flag == 0) { continue; }
                complete(i, i);
                complete_ones[i] = true;
                --left;
            }
        }
    }

    void testall() {
        if (persistent_testall_is_broken && has_persistent_one()) { return waitall(); }
        for (int flag = 0; flag == 0; std::this_thread::yield()) {
            MPI_Testall(count(), requests_.data(), &flag, statuses());
        }
        complete_all();
    }

    void testany() {
        for (;; std::this_thread::yield()) {
            int at = -1;
            int flag = 0;
            MPI_Testany(count(), requests_.data(), &at, &flag, status(0));
            if (flag == 0) { continue; }
            if (at == MPI_UNDEFINED) { return; }
            complete(static_cast<size_t>(at), 0);
        }
    }

    void testsome() {
        for (;; std::this_thread::yield()) {
            std::vector<int> which(requests_.size(), -1);
            int found = 0;
            MPI_Testsome(count(), requests_.data(), &found, which.data(), statuses());
            if (found == MPI_UNDEFINED) { return; }
            complete_some(which, found);
        }
    }

    void get_status() {
        for (size_t i = 0; i < requests_.size(); ++i) {
            for (int flag = 0; flag == 0; std::this_thread::yield()) {
                MPI_Request_get_status(requests_[i], &flag, status(i));
                harness_.expect(requests_[i] == entries_[i].before, "a look changed a request");
            }
            MPI_Wait(&requests_[i], status(i));
            complete(i, i);
        }
    }

    Harness& harness_;
    Random& own_;
    const bool ignores_;
    std::vector<Entry> entries_;
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Status> statuses_;
    int sent_ = 0;
    int received_ = 0;
};

} // namespace nodeaware::test
