#include "runtime/device/list_kernel.hpp"

#include "runtime/device/contexts.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/device/host_memory.hpp"
#include "runtime/device/list_copy_fatbin.hpp"
#include "runtime/device/list_copy_ptx.hpp"
#include "runtime/device/list_writer.hpp"
#include "runtime/job/device_counts.hpp"
#include "runtime/job/log.hpp"
#include "runtime/mpi/mpi.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <string>

namespace nodeaware::device::list_kernel {

namespace {

std::atomic<bool> may_be_used = true;

struct Loaded {
    void* module = nullptr;
    void* kernel = nullptr; ///< nullptr: it does not work here
};

/// By the number of the context: one that is made anew is not taken for the one before.
struct All {
    std::mutex mutex;
    std::map<ContextNumber, Loaded> loaded;
};
All& all() {
    static auto* const kernels = new All;
    return *kernels;
}

/// Said once in a process: other contexts will have the same to say.
void say(const std::string& why) {
    static std::atomic<bool> is_said = false;
    if (is_said.exchange(true)) { return; }
    log(LogLevel::info, "no kernels for copies on this device, which go one by one: {}", why);
}

int begin(Copies& copies, void* kernel, CopyList list) {
    constexpr uint64_t most_blocks = 1024; // each goes on to other parts of the list
    const auto blocks = static_cast<unsigned>(std::min(list.part_count, most_blocks));
    const int code = copies.launch(kernel, &list, sizeof(list), {blocks, list_block});
    if (code == 0) { DeviceCounting::add({.kernels = 1}); }
    return code;
}

/// Runs of all alignments and of several lengths from one half of some memory to the other.
class Trial {
  public:
    explicit Trial(Copies& copies)
        : memory_(2 * half + list_bytes), address_(memory_.address_for_kernels(copies)) {
        for (uint64_t i = 0; i < half; ++i) {
            memory_.data()[i] = static_cast<std::byte>(i * 167 + i / 256 * 13);
        }
        std::fill_n(memory_.data() + half, half, untouched);
    }

    /// What is wrong; nullptr: nothing. Where the kernel may be running still, its memory is never
    /// given back.
    const char* run(Copies& copies, void* kernel) {
        if (address_ == 0) { return "memory of the host is out of their reach"; }
        ListWriter writer;
        for_each_run([&](uint64_t to, uint64_t from, uint64_t bytes) {
            writer.add(address_ + half + to, address_ + from, bytes);
        });
        if (writer.prepare() > list_bytes) { return "the list is too long"; }
        const CopyList list = writer.write(memory_.data() + 2 * half, address_ + 2 * half);
        if (list_kernel::begin(copies, kernel, list) != 0) { return "cuLaunchKernel fails"; }
        if (copies.try_finish() != 0) {
            HostMemory::lose(std::move(memory_));
            return "cuStreamSynchronize fails";
        }
        return is_right() ? nullptr : "wrong bytes";
    }

  private:
    template <class Take> static void for_each_run(Take take) {
        constexpr uint64_t alignments = 16;
        uint64_t next = 0;
        for (uint64_t i = 0; i < alignments * alignments; ++i) {
            const uint64_t bytes = 1 + i % 61;
            take(next + i % alignments, next + i / alignments, bytes);
            next += 80;
        }
        for (const uint64_t apart : {0, 8, 4, 1}) {
            take(next, next + apart, 9000);
            next += 9100;
        }
    }

    bool is_right() const {
        std::vector<std::byte> expected(half, untouched);
        for_each_run([&](uint64_t to, uint64_t from, uint64_t bytes) {
            std::copy_n(memory_.data() + from, bytes,
                        expected.begin() + static_cast<ptrdiff_t>(to));
        });
        return std::equal(expected.begin(), expected.end(), memory_.data() + half);
    }

    static constexpr uint64_t half = 56 << 10;
    static constexpr uint64_t list_bytes = 8 << 10;
    static constexpr std::byte untouched{0x5a};
    HostMemory memory_;
    uint64_t address_; ///< of the memory, for kernels; 0: none
};

/// What is made for the device already, else the text, of which any driver makes it.
int load_module(void** module) {
    const Driver& known = *driver();
    if (has_list_copy_fatbin && known.module_load(module, list_copy_fatbin) == 0) { return 0; }
    return known.module_load(module, list_copy_ptx);
}

/// In the context that is current; what is wrong, or nothing.
std::string load(Copies& copies, Loaded& loaded) {
    const Driver& known = *driver();
    int code = load_module(&loaded.module);
    if (code != 0) {
        loaded.module = nullptr;
        return known.text_of(code, "cuModuleLoadData");
    }
    void* kernel = nullptr;
    code = known.module_function(&kernel, loaded.module, "nodeaware_list_copy");
    if (code != 0) { return known.text_of(code, "cuModuleGetFunction"); }
    if (const char* const wrong = Trial(copies).run(copies, kernel)) { return wrong; }
    loaded.kernel = kernel;
    return {};
}

/// nullptr: there is none that works.
void* find(Copies& copies) {
    if (!is_possible()) { return nullptr; }
    const ContextNumber number = number_of_current_context();
    if (number == 0) { return nullptr; }
    All& kernels = all();
    const std::lock_guard lock(kernels.mutex);
    const auto [found, is_new] = kernels.loaded.try_emplace(number);
    if (is_new) {
        const std::string why = load(copies, found->second);
        if (!why.empty()) { say(why); }
    }
    return found->second.kernel;
}

void refuse(const char* why) {
    const ContextNumber number = number_of_current_context();
    if (number != 0) {
        All& kernels = all();
        const std::lock_guard lock(kernels.mutex);
        const auto found = kernels.loaded.find(number);
        if (found != kernels.loaded.end()) { found->second.kernel = nullptr; }
    }
    say(why);
}

} // namespace

void allow(bool is_allowed) { may_be_used = is_allowed; }

bool is_possible() {
    const Driver& known = *driver();
    return may_be_used.load(std::memory_order_relaxed) && known.context_number != nullptr &&
           known.module_load != nullptr && known.module_unload != nullptr &&
           known.module_function != nullptr && known.launch != nullptr &&
           known.pinned_address != nullptr;
}

bool is_usable(Copies& copies) {
    try {
        return find(copies) != nullptr;
    } catch (const std::bad_alloc&) { return false; }
}

bool is_usable(const Place& place) {
    if (!place.is_for_kernels || !is_possible()) { return false; }
    try {
        Copies copies(place);
        return is_usable(copies);
    } catch (const MpiError&) { return false; } // who copies will be told
}

bool launch(Copies& copies, const CopyList& list) {
    void* const kernel = find(copies);
    if (kernel == nullptr) { return false; }
    if (list.part_count == 0) { return true; }
    const int code = begin(copies, kernel, list);
    if (code != 0) { refuse(driver()->text_of(code, "cuLaunchKernel").c_str()); }
    return code == 0;
}

void unload() {
    All& kernels = all();
    const std::lock_guard lock(kernels.mutex);
    if (kernels.loaded.empty()) { return; }
    in_each_primary_context([&](ContextNumber number) {
        const auto found = kernels.loaded.find(number);
        const bool is_there = found != kernels.loaded.end() && found->second.module != nullptr;
        if (is_there) { driver()->module_unload(found->second.module); }
    });
    kernels.loaded.clear();
}

} // namespace nodeaware::device::list_kernel
