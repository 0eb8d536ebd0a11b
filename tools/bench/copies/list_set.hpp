// Lists of copies for the library's kernel, made before their time is taken.
#pragma once

#include "runtime/device/kept_lists.hpp"
#include "runtime/device/list_kernel.hpp"
#include "runtime/device/list_writer.hpp"
#include "session.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace bench::copies {

// As many lists as so many copies take.
class ListSet {
  public:
    // `gpu`: lists are read from its memory, not from the host's, as the library has them.
    explicit ListSet(Gpu* gpu = nullptr) : gpu_(gpu) {}

    // All addresses are those that kernels see. Throws std::bad_alloc.
    void add(device::Copies& copies, std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
        if (writer_.add(to, from, bytes)) return;
        close(copies);
        writer_.add(to, from, bytes);
    }
    // The last list. False: kernels do not reach a list.
    bool close(device::Copies& copies) {
        if (writer_.runs() == 0) return are_reached_;
        Made made{std::make_unique<device::KeptList>(writer_), nullptr, {}};
        const device::HostMemory& memory = made.list->memory();
        std::uint64_t address = 0;
        if (gpu_ == nullptr) {
            address = memory.address_for_kernels(copies);
        } else {
            made.on_device = std::make_unique<DeviceBuffer>(*gpu_, memory.bytes());
            address = made.on_device->address();
            gpu_->copy_to_device(address, memory.data(), memory.bytes());
            gpu_->synchronize();
        }
        are_reached_ = are_reached_ && address != 0;
        made.copies = writer_.written(address, made.list->parts());
        bytes_ += writer_.runs() * sizeof(device::ListEntry) +
                  made.list->parts() * sizeof(device::ListPart);
        lists_.push_back(std::move(made));
        writer_.clear();
        return are_reached_;
    }

    std::size_t count() const { return lists_.size(); }
    // That kernels read, at least: what is long has several entries.
    std::uint64_t bytes() const { return bytes_; }

    // Begins all of them. False: the kernel does not work.
    bool launch(device::Copies& copies) const {
        return std::all_of(lists_.begin(), lists_.end(), [&](const Made& made) {
            return device::list_kernel::launch(copies, made.copies);
        });
    }

  private:
    struct Made {
        std::unique_ptr<const device::KeptList> list;
        std::unique_ptr<DeviceBuffer> on_device;
        device::CopyList copies;
    };

    Gpu* gpu_;
    device::ListWriter writer_;
    std::vector<Made> lists_;
    std::uint64_t bytes_ = 0;
    bool are_reached_ = true;
};

} // namespace bench::copies
