// Where one rank's messages lie in its buffers, what they hold, and whether they arrived.
#pragma once

#include "memory.hpp"
#include "pattern.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

// How an operation turns the messages of a pattern into its own.
enum class BlockRule {
    per_message,    // every message as the pattern has it
    equal_messages, // every message with the size of the largest
    per_source,     // a rank sends one block, of its largest size, to all its neighbours
    one_size        // the same, and all ranks' blocks have the same size
};

struct Placement {
    BlockRule rule = BlockRule::per_message;
    bool contiguous = false; // no gaps between blocks: the operation takes no displacements
};

std::vector<Message> apply_rule(std::vector<Message> messages, BlockRule rule);

// The largest size that some rank's send or receive buffer will have, and that rank.
struct LargestBuffer {
    int rank = 0;
    std::int64_t bytes = 0;
};
LargestBuffer largest_buffer(const std::vector<Message>& messages, int ranks);

struct Block {
    int peer;
    int bytes;
    int offset;
};

struct WrongData {
    std::int64_t bytes = 0; // how many are wrong; the rest describes the first
    std::int64_t call = 0;
    int rank = 0;
    int source = 0; // no_source: outside every message
    int byte = 0;   // within the message, or within the buffer if outside
    int expected = 0;
    int found = 0;
};
constexpr int no_source = -1;

// A message that came with its source and size.
struct Arrived {
    int source;
    int bytes;
    const unsigned char* data;
};

class Buffers {
  public:
    // `messages`: after apply_rule, of all ranks, sorted.
    Buffers(const std::vector<Message>& messages, int rank, const Placement& placement,
            Memory& memory);

    const std::vector<Block>& sends() const { return sends_; }
    const std::vector<Block>& receives() const { return receives_; }
    unsigned char* send_data() { return send_.data(); }
    unsigned char* receive_data() { return receive_.data(); }

    // From now on data is on the host: for an MPI that takes no memory of devices. Its messages are
    // then copied one by one, as applications do it that leave this to nobody.
    void stay_on_host(bool stay);
    void copy_sends_off_device();
    void copy_receives_to_device();

    // Before a call: what this rank sends, different in every call; canaries where it receives.
    void fill(std::int64_t call);
    // What has come where nobody knew of it, into the blocks of its sources; buffers of the host.
    // What has no place there is wrong, as is what is missing.
    void take(const std::vector<Arrived>& messages);
    // After it: every received byte, and every byte around the messages. Adds to `wrong`.
    void verify(std::int64_t call, WrongData& wrong);

  private:
    struct Ends { // of all blocks, in bytes
        std::size_t send;
        std::size_t receive;
    };
    Ends place(const std::vector<Message>& messages, const Placement& placement);
    void verify_gap(int begin, int end, std::int64_t call, WrongData& wrong);

    int rank_;
    bool one_block_; // all sends share one block
    std::vector<Block> sends_;
    std::vector<Block> receives_;
    Ends ends_;
    Bytes send_;
    Bytes receive_;
    std::vector<WrongData> out_of_place_; // of the messages that were taken
};

} // namespace bench
