#pragma once

#include "tests/mpi/harness.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace nodeaware::test {

/// Messages of one thread on a communicator: each rank sends to some others, the same on all ranks.
/// Which functions it calls each rank draws for itself.
class MessageRounds {
  public:
    /// `first_tag` and the 50 that follow are this thread's.
    MessageRounds(MPI_Comm comm, int number, int first_tag)
        : comm_(comm), number_(number), first_tag_(first_tag),
          plan_(static_cast<uint64_t>(number) + 1) {
        PMPI_Comm_rank(comm, &rank_);
        PMPI_Comm_size(comm, &size_);
        own_ = Random(static_cast<uint64_t>(1000 * number + rank_ + 1));
    }

    /// The same each time.
    void fixed() {
        ++round_;
        begin(everybody(), 200, 0);
        receive_by_waitall();
        finish();
    }

    void any() {
        ++round_;
        std::vector<int> offsets = everybody();
        std::erase_if(offsets, [&](int) { return draw(plan_, 0, 3) == 0; });
        constexpr std::array<int, 6> lengths = {0, 8, 200, 3000, 20000, 150000};
        const int length = lengths[static_cast<size_t>(draw(plan_, 0, 5))];
        const bool from_anybody = first_tag_ == 0 && draw(plan_, 0, 7) == 0;
        if (from_anybody) { MPI_Barrier(comm_); } // or messages of the next round might come first
        begin(offsets, length, from_anybody ? 49 : draw(plan_, 0, 3));
        if (from_anybody) {
            receive_from_anybody();
        } else {
            receive_somehow();
        }
        finish();
        if (from_anybody) { MPI_Barrier(comm_); }
    }

    int wrong() const { return wrong_; }

  private:
    std::vector<int> everybody() const {
        std::vector<int> offsets;
        for (int offset = 1; offset < size_; ++offset) { offsets.push_back(offset); }
        return offsets;
    }
    int source(int offset) const { return (rank_ + size_ - offset) % size_; }
    char value(int sender, int receiver) const {
        return static_cast<char>(round_ + 3 * sender + 7 * receiver + 11 * number_);
    }

    void begin(const std::vector<int>& offsets, int length, int tag) {
        offsets_ = offsets;
        length_ = length;
        tag_ = first_tag_ + tag;
        sent_.assign(offsets.size(), {});
        received_.assign(offsets.size(), std::vector<char>(static_cast<size_t>(length) + 1, '?'));
        requests_.clear();
        if (draw(own_, 0, 1) == 0) { std::shuffle(offsets_.begin(), offsets_.end(), own_); }
    }

    void send() {
        for (size_t i = 0; i < offsets_.size(); ++i) {
            const int peer = (rank_ + offsets_[i]) % size_;
            sent_[i].assign(static_cast<size_t>(length_), value(rank_, peer));
            MPI_Request& request = requests_.emplace_back();
            if (draw(own_, 0, 7) == 0) {
                MPI_Issend(sent_[i].data(), length_, MPI_CHAR, peer, tag_, comm_, &request);
            } else {
                MPI_Isend(sent_[i].data(), length_, MPI_CHAR, peer, tag_, comm_, &request);
            }
        }
    }

    void post(size_t i, MPI_Request* request) {
        MPI_Irecv(received_[i].data(), length_ + 1, MPI_CHAR, source(offsets_[i]), tag_, comm_,
                  request);
    }

    void expect(bool condition) {
        if (!condition) { ++wrong_; }
    }
    void check(size_t i, int peer, const MPI_Status& status) {
        int count = -1;
        MPI_Get_count(&status, MPI_CHAR, &count);
        expect(count == length_ && status.MPI_SOURCE == peer && status.MPI_TAG == tag_);
        std::vector<char> expected(static_cast<size_t>(length_), value(peer, rank_));
        expected.push_back('?');
        expect(received_[i] == expected);
    }
    void check(size_t i, const MPI_Status& status) { check(i, source(offsets_[i]), status); }

    void receive_by_waitall() {
        std::vector<MPI_Request> receives(offsets_.size());
        for (size_t i = 0; i < receives.size(); ++i) { post(i, &receives[i]); }
        send();
        requests_.insert(requests_.begin(), receives.begin(), receives.end());
        std::vector<MPI_Status> statuses(requests_.size());
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), statuses.data());
        for (size_t i = 0; i < receives.size(); ++i) { check(i, statuses[i]); }
    }

    /// One after the other is completed, by waiting or by tests.
    void receive_by_waitany(bool tests) {
        std::vector<MPI_Request> receives(offsets_.size());
        for (size_t i = 0; i < receives.size(); ++i) { post(i, &receives[i]); }
        send();
        const int count = static_cast<int>(receives.size());
        for (size_t done = 0; done < receives.size();) {
            MPI_Status status;
            int index = MPI_UNDEFINED;
            int flag = 1;
            if (tests) {
                MPI_Testany(count, receives.data(), &index, &flag, &status);
            } else {
                MPI_Waitany(count, receives.data(), &index, &status);
            }
            if (flag == 0 || index == MPI_UNDEFINED) { continue; }
            check(static_cast<size_t>(index), status);
            ++done;
        }
    }

    void receive_one_by_one(int how) {
        send();
        for (size_t i = 0; i < offsets_.size(); ++i) {
            const int peer = source(offsets_[i]);
            MPI_Status status;
            if (how == 2) {
                MPI_Message message = MPI_MESSAGE_NULL;
                MPI_Mprobe(peer, tag_, comm_, &message, &status);
                MPI_Mrecv(received_[i].data(), length_ + 1, MPI_CHAR, &message, &status);
            } else {
                if (how == 1) {
                    int count = -1;
                    MPI_Probe(peer, tag_, comm_, &status);
                    MPI_Get_count(&status, MPI_CHAR, &count);
                    expect(count == length_);
                }
                MPI_Recv(received_[i].data(), length_ + 1, MPI_CHAR, peer, tag_, comm_, &status);
            }
            check(i, status);
        }
    }

    void receive_by_persistent() {
        std::vector<MPI_Request> receives(offsets_.size());
        for (size_t i = 0; i < receives.size(); ++i) {
            MPI_Recv_init(received_[i].data(), length_ + 1, MPI_CHAR, source(offsets_[i]), tag_,
                          comm_, &receives[i]);
        }
        const int count = static_cast<int>(receives.size());
        if (count == 0) { return; } // Open MPI refuses to start none
        MPI_Startall(count, receives.data());
        send();
        std::vector<MPI_Status> statuses(receives.size());
        for (int flag = 0; flag == 0;) {
            MPI_Testall(count, receives.data(), &flag, statuses.data());
        }
        for (size_t i = 0; i < receives.size(); ++i) {
            check(i, statuses[i]);
            MPI_Request_free(&receives[i]);
        }
    }

    void receive_somehow() {
        switch (draw(own_, 0, 6)) {
        case 0: return receive_by_waitany(false);
        case 1: return receive_by_waitany(true);
        case 2: return receive_one_by_one(0);
        case 3: return receive_one_by_one(1);
        case 4: return receive_one_by_one(2);
        case 5: return receive_by_persistent();
        default: return receive_by_waitall();
        }
    }

    void receive_from_anybody() {
        send();
        for (size_t i = 0; i < offsets_.size(); ++i) {
            MPI_Status status;
            MPI_Recv(received_[i].data(), length_ + 1, MPI_CHAR, MPI_ANY_SOURCE, tag_, comm_,
                     &status);
            check(i, status.MPI_SOURCE, status);
        }
    }

    void finish() {
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    }

    MPI_Comm comm_;
    int number_;
    int first_tag_;
    Random plan_;
    Random own_;
    int rank_ = 0;
    int size_ = 0;
    int round_ = 0;
    std::vector<int> offsets_; ///< of the ranks sent to
    int length_ = 0;
    int tag_ = 0;
    std::vector<std::vector<char>> sent_, received_;
    std::vector<MPI_Request> requests_; ///< of sends
    int wrong_ = 0;
};

} // namespace nodeaware::test
