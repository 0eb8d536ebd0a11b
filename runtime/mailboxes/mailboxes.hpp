#pragma once

#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/job/world.hpp"
#include "runtime/mailboxes/eager_limit.hpp"
#include "runtime/mailboxes/early_messages.hpp"
#include "runtime/mailboxes/expected_traffic.hpp"
#include "runtime/mailboxes/grants.hpp"
#include "runtime/mailboxes/incoming_cells.hpp"
#include "runtime/mailboxes/incoming_messages.hpp"
#include "runtime/mailboxes/node_mates.hpp"
#include "runtime/mailboxes/outgoing_cells.hpp"
#include "runtime/mailboxes/outgoing_messages.hpp"
#include "runtime/mailboxes/proposals.hpp"
#include "runtime/mailboxes/rings.hpp"
#include "runtime/memory/shared_memory.hpp"
#include "runtime/progress/clock.hpp"
#include "runtime/progress/progress.hpp"
#include "strategies/batches.hpp"
#include "strategies/topology.hpp"
#include "strategies/traffic.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace nodeaware {

/// What waits for others in vain should not take much longer than by itself.
inline constexpr int a_few = 20; ///< messages
/// Seconds that they are thought to take.
double a_few_messages(const World& world);
/// Seconds that a message waits for others where nothing is known of these: ranks of a node are not
/// expected to be further apart.
double automatic_batch_timeout(const World& world);

/// One message per node pair for small messages of all ranks of a node, without a rank that others
/// wait for.
///
/// The ranks of a node put their messages for another node into a cell that they share
/// (OutgoingCells). It leaves as one message when all of them wait or are away, or when it is
/// overdue: closed and sent by any of them. On the other node one rank, the keeper, has receives
/// posted for such messages, whose buffers are cells that its ranks share (IncomingCells). MPI puts
/// a container there whatever the keeper does inside MPI, and every rank sees by its content that
/// it has landed.
///
/// A rank may send to a cell that it has been granted and that is ready again (Grants); otherwise
/// what it sends goes straight to its receivers. If a keeper stays outside of MPI, ranks of the
/// sending node that wait send the messages once more, straight. So messages come in any order and
/// sometimes twice: their addressees number them.
class Mailboxes : public WorkSource {
  public:
    /// Collective over MPI_COMM_WORLD. nullptr, on all ranks, if a communicator or shared memory
    /// could not be had. Throws MpiError.
    static std::shared_ptr<Mailboxes> create(const World& world);
    /// False if nothing that this job may do would use them. Who holds a Turn does.
    static bool are_wanted(const World& world);
    ~Mailboxes() override;

    /// Whom messages are for: an engine, which has the same name on all of its ranks.
    class Addressee {
      public:
        virtual void take(const std::shared_ptr<const std::byte>& bytes, uint64_t size) = 0;
        /// A message that it has put in has left.
        virtual void left(bool is_late) = 0;

      protected:
        Addressee() = default;
        Addressee(const Addressee&) = default;
        Addressee& operator=(const Addressee&) = default;
        ~Addressee() = default;
    };
    using Name = EarlyMessages::Name;
    /// It takes at once what has come before it. If that throws, it is not there.
    void add(Name name, Addressee& addressee);
    void remove(Name name);

    /// The largest message that travels with others.
    uint64_t most_bytes() const { return most_bytes_; }
    /// Puts a message into the cell for the node of `destination` (rank in MPI_COMM_WORLD):
    /// `write(where)` writes its bytes. Messages of one `kind` are sent again and again. It leaves
    /// after `patience` seconds at the latest, if somebody looks. False if there is no room: it has
    /// to go another way. `awaits_others`: somebody of this node will say that others_are_in(),
    /// and not to wait for that is only worth it for a container that is known.
    template <class Write>
    bool put(Name name, int destination, uint64_t kind, uint64_t bytes, double patience,
             Write write, bool awaits_others = false) {
        const auto place = reserve(destination, bytes, patience);
        if (!place) { return false; }
        if (awaits_others) { outgoing_cells_.await_others(*place); }
        std::byte* const at = outgoing_cells_.at(*place);
        container::Item item{name, static_cast<uint32_t>(topology_.local_of(destination)),
                             static_cast<uint32_t>(bytes)};
        try {
            write(at + sizeof item);
        } catch (...) {
            item.name = 0;
            std::memcpy(at, &item, sizeof item);
            outgoing_cells_.commit(*place, 0);
            throw;
        }
        std::memcpy(at, &item, sizeof item);
        outgoing_cells_.commit(*place, mix(mix(name, static_cast<uint64_t>(destination)), kind));
        note_put(name, *place, patience);
        return true;
    }

    /// All ranks of this node have put in what they were awaited with: it leaves now.
    void others_are_in();
    /// False if of late there was one message at a time that awaited others, for that node.
    bool gathers(int destination) const {
        return !outgoing_cells_.is_lonely(other_of(topology_.node_of(destination)));
    }

    /// This node is ahead of another one: it has no room for more containers there, but soon will,
    /// as far as the last ones have been taken.
    bool is_ahead() const;
    /// Seconds in which another node takes what has been sent, as long as it goes on.
    double soon() const { return 8 * mates_.round_trip(); }

    /// A batch that this rank sends again and again to ranks of a communicator with those `members`
    /// (ranks in MPI_COMM_WORLD), for its node to know. For each node the largest counts.
    void publish(const batches::Batch& batch, const std::vector<int>& members);
    /// What it has published before counts no more.
    void publish_anew();
    /// A message is sent, by whomever: would it have found others to travel with?
    void note_send(int destination) {
        expected_.sent(other_of(topology_.node_of(destination)), now(), round_trip() / 2);
    }
    /// Seconds that a message waits for others where nothing is known of these.
    double batch_timeout() const { return std::max(few_messages_, a_few * round_trip() / 2); }
    /// Share of those that would have.
    double saved_share() const { return expected_.saved_share(); }
    double surely_saved_share() const { return expected_.surely_saved_share(); }
    /// What this node has proposed to hand over.
    const Proposals& proposals() const { return proposals_; }
    /// This node sends several messages to the node of that rank.
    bool is_shared(int destination) const;
    /// What the node's batches are thought to take.
    batches::Forecast forecast() const;

    /// Messages of this rank go through the cells (1), or do no more (-1).
    void takes_part(int by) { mates_.takes_part(local_, by); }
    /// Messages of this rank to one more (1) or less (-1) in MPI_COMM_WORLD go through the cells.
    void takes_part(int destination, int by) {
        mates_.takes_part(local_, by);
        expected_.connect(other_of(topology_.node_of(destination)), local_, by);
    }

    /// Messages of a rank of this node go through the cells.
    bool is_used() const { return mates_.anybody_takes_part(); }
    /// The number of the last comparison with MPI: ranks of a node take part in it together.
    uint32_t comparison() const { return mates_.comparison(); }
    /// Of the one that begins now.
    uint32_t begin_comparison() {
        mates_.compare(comparison() + 1);
        return comparison();
    }
    /// Another node takes part in it.
    void join_comparison(uint32_t number) { mates_.compare(number); }

    /// A question has been answered after so many seconds. The shortest time is what it takes two
    /// messages to cross the network, and worth waiting for what would need one of its own.
    void note_round_trip(double seconds) { mates_.note_round_trip(seconds); }
    double round_trip() const { return mates_.round_trip(); } ///< 0: not known

    /// Memory for a message that goes straight: `*at` is for its bytes, a multiple of 8.
    static std::vector<std::byte> framed(Name name, uint64_t bytes, std::span<std::byte>* at);
    // Send what is framed to a rank of MPI_COMM_WORLD. Throw MpiError.
    void send(std::vector<std::byte> framed, int destination);
    void send_at_once(const std::vector<std::byte>& framed, int destination);
    /// The memory is in use until the request is complete.
    MPI_Request begin_send(const std::vector<std::byte>& framed, int destination);

    /// Messages may come to this rank at any time from now on (1), or no more for whoever has said
    /// so (-1).
    void expect(int by) {
        expecting_ += by;
        mates_.expects(by);
    }
    /// Takes what has come for this rank.
    void receive_some();
    /// Before this rank sends: who only sends never waits, and would not see that its cells are
    /// ready again.
    void look_for_cells() noexcept;
    /// How often that was done, here or in passing.
    uint64_t looks() const { return looks_; }
    /// Takes what has landed for this rank.
    void look();

    bool is_busy() const override;
    /// Nothing that this rank has sent needs it any more.
    bool has_sent_all() const { return unsent_.empty() && outgoing_.empty(); }
    void advance() override;
    void set_waiting(bool waits) override;
    /// If it has put something in that has not left, it counts as having waited now: nobody waits
    /// for it to put more into what was begun before, and what is complete so is sent. In any case
    /// a look in vain counts no more.
    void need_not_wait() override;
    /// In vain: it counts as waiting from now on, until it puts something in, has waited, or need
    /// not wait. Not in vain: as need_not_wait(). Nothing while it waits anyway.
    void has_looked(bool in_vain) override;
    /// Sends what this rank has put in and has not left.
    void before_blocking() override;
    /// Whoever has put in what this rank has not sent is gone: it is to leave nevertheless before
    /// this rank blocks.
    void look_after_unsent();
    /// From now on no message waits for others.
    void send_at_once() { sends_at_once_ = true; }
    /// Collective over MPI_COMM_WORLD, at the end: serves others until nobody has anything left.
    void close(Progress& progress);

    struct Counts {
        uint64_t containers = 0; ///< sent
        uint64_t apart = 0;      ///< closed, and then sent to each receiver
        uint64_t bytes = 0;      ///< of both
        uint64_t overdue = 0;    ///< of both, because of the time limit
        uint64_t again = 0;      ///< sent once more
        uint64_t moved = 0;      ///< parts that this rank has moved for others that were slow
    };
    const Counts& counts() const { return counts_; }

  private:
    enum class Control : uint32_t { want, granted, ready };
    struct Unsent {
        Name name;
        int node; ///< as numbered among the others
        uint32_t generation;
        double leaves_at;
    };
    struct Kept {
        int sender; ///< in MPI_COMM_WORLD
        IncomingCells::Place place;
        MPI_Request request;
        bool is_to_be_posted = false; ///< once more, which MPI may have refused
    };

    Mailboxes(std::shared_ptr<InnerCommunicator> inner, const World& world);
    bool create_memory(uint64_t limit);
    void measure();
    std::optional<OutgoingCells::Place> reserve(int destination, uint64_t bytes, double patience);
    void note_put(Name name, const OutgoingCells::Place& place, double patience);
    void forget_sent();
    /// What is known of a container that is to be closed: nothing, that nobody is expected to put
    /// in more, or that nobody has who it was held for.
    enum class Known { no, complete, held_in_vain };
    /// False if another rank has closed it. If it throws, the container is put back, and tried
    /// again by whoever looks next.
    bool close_and_send(int other, uint32_t generation, Known known = Known::no);
    bool try_to_send(int other, uint32_t generation);
    void send_put_back(int other);
    void send_closed(int other, uint32_t generation);
    bool send_containers(int other, uint32_t generation, const container::Sorted& sorted);
    void send_lists(int other, uint32_t generation, const container::Sorted& sorted,
                    std::span<const std::span<const container::Part>> lists,
                    std::span<const uint32_t> granted);
    void ask_for_cells(int other, uint32_t destination);
    void send_apart(int other, const container::Sorted& sorted);
    int owed_to(int other) const;
    std::vector<container::Credit> take_credits(int other);
    void owe(int other, const std::vector<container::Credit>& credits);
    void send_control(int destination, Control what, const std::vector<container::Credit>& credits);
    static std::vector<std::byte> as_items(Control what,
                                           const std::vector<container::Credit>& credits);
    void take_control(int source, uint32_t local, std::span<const std::byte> message);
    void take_message(const IncomingMessages::Message& message);
    void deliver(Name name, std::shared_ptr<const std::byte> bytes, uint64_t size);
    void take_items(const IncomingCells::Place& place);
    void take_moved(uint64_t bytes);
    void take_own(std::shared_ptr<const std::byte[]> items, uint64_t bytes);
    void move_late(const IncomingCells::Place& place, double since);
    void give(int other, int local, uint32_t cells);
    void close_ready();
    void close_what_may_leave();
    /// Seconds, for ranks that wait for something earlier.
    double longest_hold() const { return 2 * mates_.round_trip(); }
    bool gains_by_waiting(int other, uint32_t generation) const;
    bool is_about_to_send(int mate) const;
    bool others_can_send(int other, double begun) const;
    bool is_overtaken(int other, double sent_at) const;
    bool avoid_keeper(int other, int local, double sent_at);
    void send_again();
    void keep(int sender);
    std::optional<int> slot_for(int sender);
    void post(Kept& kept);
    void look_after_cells();
    void tell_of_cells();
    void looks_no_more();
    void is_back();
    void look_at_mpi();
    void tell_of_failed_look();
    void barrier(Progress& progress);
    void receive_the_rest(Progress& progress);
    bool has_landed(Kept& kept);
    /// A message to that rank is under way.
    void count_sent(int destination, size_t kind) {
        ++sent_[kinds * static_cast<size_t>(destination) + kind];
    }

    int other_of(int node) const { return node < node_ ? node : node - 1; }
    int node_of_other(int other) const { return other < node_ ? other : other + 1; }
    int other_of_slot(int slot) const;
    int sender_of(int rank) const { return senders_[static_cast<size_t>(rank)]; }

    std::shared_ptr<InnerCommunicator> inner_; ///< of MPI_COMM_WORLD
    MPI_Comm comm_;
    int rank_;
    Topology topology_;
    int node_;
    int local_;
    std::vector<int> senders_; ///< by rank: its number among those on other nodes
    std::vector<int> rank_of_sender_;
    uint32_t cell_bytes_ = 0;
    int most_slots_of_a_node_ = 0; ///< another one, see IncomingCells
    uint64_t most_bytes_ = 0;
    SharedMemory memory_;
    NodeMates mates_;
    Proposals proposals_;
    OutgoingCells outgoing_cells_;
    Grants grants_;
    ExpectedTraffic expected_;
    IncomingCells incoming_cells_;
    Rings rings_;
    IncomingMessages incoming_;
    OutgoingMessages outgoing_;
    EagerLimit eager_limit_;
    OutgoingMessages::Watch note_eager_;

    double few_messages_ = 0;  ///< seconds that they take
    std::vector<int> keepers_; ///< by other node, of this rank's cells there; -1: none yet
    std::vector<bool> asked_;
    std::vector<uint64_t> uses_; ///< by other node and cell
    std::vector<Unsent> unsent_;
    size_t next_forget_ = 64;
    std::vector<Kept> kept_;
    std::map<int, double> owed_since_; ///< by sender
    std::map<Name, Addressee*> addressees_;
    EarlyMessages early_;
    bool is_closing_ = false;
    bool is_closed_ = false;
    bool sends_at_once_ = false;
    bool looks_after_unsent_ = false;
    int expecting_ = 0;
    uint64_t looks_ = 0;
    uint64_t lacks_cells_at_ = ~uint64_t{0}; ///< looks; it had none left for some node
    std::exception_ptr failed_look_;         ///< that could not tell of it
    double waiting_since_ = 0;               ///< 0: does not wait
    bool is_away_ = false;            ///< in MPI since it left the library, as far as others know
    bool has_looked_in_vain_ = false; ///< and has put nothing in since
    double again_after_ = 0.25;
    Counts counts_;

    static constexpr size_t sent_apart = 0;
    static constexpr size_t sent_to_cells = 1;
    static constexpr size_t kinds = 2;
    std::vector<uint64_t> sent_; ///< by rank and kind
    std::vector<uint64_t> sent_by_all_;
    uint64_t received_apart_ = 0;
    uint64_t landed_ = 0; ///< in cells that this rank keeps
    bool is_last_sent_ = false;
};

} // namespace nodeaware
