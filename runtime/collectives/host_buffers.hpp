#pragma once

#include "runtime/collectives/examination.hpp"
#include "runtime/collectives/kept_types.hpp"
#include "runtime/communicators/neighbors.hpp"
#include "runtime/device/host_memory.hpp"

#include <map>
#include <tuple>
#include <type_traits>
#include <vector>

namespace nodeaware {

/// The blocks of one buffer of an exchange side by side in memory of the host, for an MPI that
/// knows nothing of devices. Counts stay as they are; datatypes with gaps become bytes.
class HostBlocks {
  public:
    HostBlocks() = default;
    ~HostBlocks();
    HostBlocks(const HostBlocks&) = delete;
    HostBlocks& operator=(const HostBlocks&) = delete;

    /// Looks where `number` blocks are. Those of `peers` that do not exist are never moved;
    /// nullptr: all exist. Throws MpiError.
    void list(const Blocks& blocks, int number, const std::vector<int>* peers);
    /// Some are on a device.
    bool are_needed() const;
    /// Makes room. Where there is none MPI is given as much as others expect, but of other bytes,
    /// and what it receives is lost: load() and store() fail then. Throws MpiError and
    /// std::bad_alloc.
    void make();
    /// The application may free its datatypes. Throws MpiError.
    void keep_types();
    /// Looks again where the blocks are. Throws MpiError.
    void look_again();

    /// Copies what is in the blocks; the first failure.
    int load() const;
    /// Copies to the blocks. Throws MpiError and std::bad_alloc.
    void store() const;

    // What MPI is to be given.
    void* buffer() const;
    MPI_Datatype type() const { return types_.front(); }
    const std::vector<MPI_Datatype>& types() const { return types_; }
    template <class Offset> const Offset* displacements() const {
        if constexpr (std::is_same_v<Offset, int>) {
            return narrow_.data();
        } else {
            return displacements_.data();
        }
    }

  private:
    struct Block {
        MPI_Count count = 0;
        MPI_Datatype type = MPI_DATATYPE_NULL; ///< of the application
        UserMemory memory;                     ///< without bytes: not moved
    };
    uint64_t place_blocks();
    MPI_Datatype dense(MPI_Datatype type);
    MPI_Datatype upon_itself(MPI_Datatype type);
    std::vector<UserMemory> memories() const;
    void pin_for(const std::vector<UserMemory>& memories) const;
    std::byte* at(size_t block) const { return memory_.data() + places_[block]; }

    Blocks::Kind kind_ = Blocks::Kind::uniform;
    bool is_wide_ = true; ///< displacements are not int
    bool has_room_ = true;
    std::vector<Block> blocks_;
    KeptTypes kept_;
    device::HostMemory memory_;
    std::vector<uint64_t> places_; ///< of blocks, in bytes
    std::vector<MPI_Aint> displacements_;
    std::vector<int> narrow_; ///< the same
    std::vector<MPI_Datatype> types_;
    std::map<MPI_Datatype, MPI_Datatype> made_; ///< by the application's; to be freed
};

/// The buffers of an exchange that is left to MPI, on the host: those that are a device's, of which
/// this MPI knows nothing. A matter of this rank alone.
class HostBuffers {
  public:
    /// `neighbors`: of an operation among neighbours, else nullptr. Throws MpiError.
    HostBuffers(const ExchangeArguments& arguments, const BlockNumbers& numbers,
                const Neighbors* neighbors);

    bool are_needed() const { return has_sent_ || has_received_; }
    /// Makes room for what is needed. Throws MpiError and std::bad_alloc.
    void make();
    /// The exchange outlives the call. Throws MpiError.
    void keep_types();
    /// For a persistent exchange, before begin(): the memory may be another kind's now.
    void look_again();
    /// Copies what is sent. What fails is told by finish(), for the others wait for this rank.
    void begin();
    /// Copies what has been received, unless MPI's call has failed; what the call returns.
    int finish(int code);

    /// Puts the memory of the host in the place of the application's: in arguments as MPI_Alltoall
    /// and its kin have them.
    template <class... Arguments> void replace(std::tuple<Arguments...>& arguments) const {
        constexpr size_t second = Place<0, Arguments...>::next;
        if (has_sent_) { Place<0, Arguments...>::put(sent_, arguments); }
        if (has_received_) { Place<second, Arguments...>::put(received_, arguments); }
    }

  private:
    /// The arguments of one buffer: its address, counts, displacements if there are several counts,
    /// and datatypes.
    template <size_t first, class... Arguments> struct Place {
        using All = std::tuple<Arguments...>;
        template <size_t i> using Argument = std::tuple_element_t<i, All>;
        static constexpr bool is_row = std::is_pointer_v<Argument<first + 1>>;
        static constexpr size_t type = first + (is_row ? 3 : 2);
        static constexpr size_t next = type + 1;

        static void put(const HostBlocks& blocks, All& arguments) {
            std::get<first>(arguments) = blocks.buffer();
            if constexpr (is_row) {
                using Offset = std::remove_cv_t<std::remove_pointer_t<Argument<first + 2>>>;
                std::get<first + 2>(arguments) = blocks.displacements<Offset>();
            }
            if constexpr (std::is_same_v<Argument<type>, const abi::MPI_Datatype*>) {
                std::get<type>(arguments) =
                    reinterpret_cast<const abi::MPI_Datatype*>(blocks.types().data());
            } else {
                std::get<type>(arguments) = exchange_arguments::foreign(blocks.type());
            }
        }
    };

    bool is_in_place_;
    bool has_sent_ = false;
    bool has_received_ = false;
    int error_ = MPI_SUCCESS;
    HostBlocks sent_;
    HostBlocks received_;
};

} // namespace nodeaware
