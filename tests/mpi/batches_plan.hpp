#pragma once

#include "tests/mpi/batches_message.hpp"

namespace nodeaware::test {

/// How a rank receives all its messages of an iteration.
enum class Receiving {
    as_usual,
    any_source,
    any_tag,
    any,
    blocking_any,
    probe_any,
    iprobe_any,
    probe,
    mprobe,
    improbe,
    count
};

constexpr bool receives_blocking(Receiving receiving) {
    return receiving >= Receiving::blocking_any;
}

enum class Between { allreduce, barrier, bcast, alltoallv, dup, split, count };

/// What all ranks of a communicator do before the next iteration.
struct Iteration {
    std::vector<Message> messages; ///< each rank sends in this order
    std::vector<Receiving> receiving;
    std::vector<Between> before_sends;
    std::vector<Between> after_sends;
    bool has_late = false;
    bool in_order = false;    ///< no Startall for sends
    bool has_barrier = false; ///< an Ibarrier of another communicator is among the requests
    int wavefront = -1;       ///< the rank that starts it
    int wavefront_size = 0;
    bool goes_on = false; ///< to the next one without a collective operation
    bool frees = false;   ///< the communicator, with requests outstanding
    bool ends_with_barrier = false;
    int value = 0;
};

struct Wishes {
    bool sends_may_block = true; ///< and all receives are posted before; else receives may block
    int patterns = 1;
    int deviation = 0; ///< one in so many iterations deviates; 0: none
    bool skips = false;
    bool wavefronts = false;
    bool between = false;
    bool only_ints = true;
    bool otherwise = false;   ///< some ranks receive in a special way each time
    bool goes_on = false;     ///< some exchanges follow each other without a collective operation
    bool meets_aside = false; ///< the collective operations are on another communicator
};

/// Draws the iterations of a phase.
class Plan {
  public:
    Plan(Random random, const Layouts& layouts, int size, const Wishes& wishes)
        : random_(random), layouts_(layouts), size_(size), wishes_(wishes) {
        for (int i = 0; i < wishes.patterns; ++i) { patterns_.push_back(draw_pattern()); }
        barrier_ = chance(2);
        usual_.receiving.assign(static_cast<size_t>(size_), Receiving::as_usual);
        for (int rank = 0; wishes.otherwise && rank < size_; ++rank) {
            if (chance(3)) { receive_otherwise(usual_, rank); }
        }
    }

    int slots() const { return slots_; }

    Iteration next(bool may_deviate) {
        Iteration now = usual_;
        now.messages = patterns_[static_cast<size_t>(count_++ % wishes_.patterns)];
        now.ends_with_barrier = chance(10) != barrier_;
        now.value = draw(random_, 0, 1000);
        now.goes_on = wishes_.goes_on && !chance(4);
        if (wishes_.skips && chance(3)) { skip_ranks(now); }
        if (wishes_.wavefronts && !chance(8)) {
            now.wavefront = draw(random_, 0, size_ - 1);
            now.wavefront_size = draw(random_, 0, chance(10) ? 20000 : 300);
        }
        if (wishes_.between && !chance(4)) { add_between(now); }
        if (may_deviate && wishes_.deviation > 0 && chance(wishes_.deviation)) { deviate(now); }
        for (Message& message : now.messages) {
            message.key = random_();
            const Receiving way = now.receiving[static_cast<size_t>(message.to)];
            if (receives_blocking(way) || may_wait_for_ever(now, message)) {
                message.nonblocking = true;
            }
        }
        return now;
    }

  private:
    bool chance(int one_in) { return draw(random_, 1, one_in) == 1; }
    int fresh_tag() { return 100 + fresh_tags_++ % 10000; }
    int other_rank() { return draw(random_, 0, size_ - 1); }

    /// If it is synchronous and blocking, and the first of its kind: the limit of which README
    /// tells.
    static bool may_wait_for_ever(const Iteration& now, const Message& message) {
        const Receiving way = now.receiving[static_cast<size_t>(message.to)];
        const bool has_wildcards = way != Receiving::as_usual && !receives_blocking(way);
        const bool is_elsewhere = now.has_late || !now.after_sends.empty();
        return message.kind == Kind::synchronous && has_wildcards && is_elsewhere;
    }

    std::vector<Message> draw_pattern() {
        std::vector<Message> list;
        const bool symmetric = chance(2);
        const bool plain = chance(3);
        const int most = symmetric ? 3 : draw(random_, 2, 8);
        for (int rank = 0; rank < size_; ++rank) {
            for (int i = draw(random_, most > 2 ? 2 : 1, most); i > 0; --i) {
                const int other = chance(8) ? rank : other_rank();
                add(list, rank, other, plain);
                if (symmetric && other != rank) { add(list, other, rank, plain); }
            }
        }
        for (int i = draw(random_, 0, 2); i > 0; --i) {
            Message& big = any_of(list);
            big.units = 50000 / layouts_.at(layouts_.basic(big.signature)).unit / 6 * 6;
            renew_types(big, layouts_, random_, plain);
        }
        std::shuffle(list.begin(), list.end(), random_);
        for (Message& message : list) { message.slot = slots_++; }
        return list;
    }

    Message& any_of(std::vector<Message>& list) {
        return list[static_cast<size_t>(draw(random_, 0, static_cast<int>(list.size()) - 1))];
    }

    void add(std::vector<Message>& list, int from, int to, bool plain) {
        Message message;
        message.from = from;
        message.to = to;
        do {
            message.tag = chance(10) ? 32767 - draw(random_, 0, 10) : draw(random_, 0, 15);
        } while (std::any_of(list.begin(), list.end(), [&](const Message& other) {
            return other.from == from && other.to == to && other.tag == message.tag;
        }));
        message.signature = wishes_.only_ints ? 1 : draw(random_, 0, 2);
        message.kind = chance(20) ? Kind::synchronous : Kind::plain;
        draw_size(message, plain);
        list.push_back(message);
    }

    void draw_size(Message& message, bool plain) {
        const int kind = draw(random_, 0, 9);
        message.units = kind == 0  ? 0
                        : kind < 4 ? draw(random_, 1, 8)
                        : kind < 7 ? 6 * draw(random_, 1, 10)
                                   : draw(random_, 1, 500);
        renew_types(message, layouts_, random_, plain);
    }

    void skip_ranks(Iteration& now) {
        std::vector<bool> skipped;
        for (int i = 0; i < size_; ++i) { skipped.push_back(chance(3)); }
        std::erase_if(now.messages, [&](const Message& message) {
            return skipped[static_cast<size_t>(message.from)];
        });
    }

    void add_between(Iteration& now) {
        const auto one = [&] {
            return static_cast<Between>(draw(random_, 0, static_cast<int>(Between::count) - 1));
        };
        for (int i = draw(random_, 0, 2); i > 0; --i) { now.before_sends.push_back(one()); }
        for (int i = draw(random_, 0, 2); i > 0; --i) { now.after_sends.push_back(one()); }
    }

    void deviate(Iteration& now) {
        if (chance(2) && now.wavefront < 0) {
            for (int rank = 0; rank < size_; ++rank) {
                if (chance(3)) { receive_otherwise(now, rank); }
            }
        }
        for (int i = draw(random_, 1, 3); i > 0; --i) { deviate_once(now); }
        now.has_barrier = chance(4);
    }

    void receive_otherwise(Iteration& now, int rank) {
        auto way = static_cast<Receiving>(draw(random_, 1, static_cast<int>(Receiving::count) - 1));
        if (!wishes_.only_ints && way <= Receiving::blocking_any) { way = Receiving::probe_any; }
        now.receiving[static_cast<size_t>(rank)] = way;
        now.in_order = true;
    }

    void deviate_once(Iteration& now) {
        if (now.messages.empty()) { return; }
        Message& one = any_of(now.messages);
        if (one.touched) { return; }
        one.touched = true;
        const bool usual = now.receiving[static_cast<size_t>(one.to)] == Receiving::as_usual;
        const bool sender_usual =
            now.receiving[static_cast<size_t>(one.from)] == Receiving::as_usual;
        switch (draw(random_, 0, 10)) {
        case 0: resize(one); break;
        case 1: add_other(now, one); break;
        case 2: now.messages.erase(now.messages.begin() + (&one - now.messages.data())); break;
        case 3: redirect(one); break;
        case 4:
            if (!usual) { break; }
            one.late = one.nonblocking = now.has_late = true;
            break;
        case 5: one.early = usual; break;
        case 6: add_second(now, one); break;
        case 7: change_kind(one, Kind::synchronous); break;
        case 8:
            if (one.units < 1000) { change_kind(one, Kind::buffered); }
            break;
        case 9:
            if (usual) { one.withdrawn = one.nonblocking = true; }
            break;
        default:
            if (!usual || !sender_usual) { break; }
            change_kind(one, Kind::ready);
            one.preposted = true;
        }
    }

    static void change_kind(Message& message, Kind kind) {
        message.kind = kind;
        message.slot = -1;
    }

    void resize(Message& message) {
        message.slot = -1;
        draw_size(message, false);
        if (chance(3)) {
            message.units = 300000 / layouts_.at(layouts_.basic(message.signature)).unit / 6 * 6;
            renew_types(message, layouts_, random_, chance(2));
        }
    }

    void add_other(Iteration& now, const Message& model) {
        Message message = model;
        message.tag = fresh_tag();
        message.touched = true;
        resize(message);
        now.messages.push_back(message);
    }

    void add_second(Iteration& now, const Message& model) {
        Message message = model;
        message.second = true;
        resize(message);
        now.messages.push_back(message);
    }

    void redirect(Message& message) {
        message.slot = -1;
        message.to = other_rank();
        message.tag = fresh_tag();
        message.nonblocking = true;
    }

    Random random_;
    const Layouts& layouts_;
    int size_;
    Wishes wishes_;
    std::vector<std::vector<Message>> patterns_;
    Iteration usual_; ///< what is the same in all iterations
    int slots_ = 0;
    int count_ = 0;
    int fresh_tags_ = 0;
    bool barrier_ = false;
};

} // namespace nodeaware::test
