#include "runtime/memory/kept_runs.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <new>

namespace nodeaware {

namespace {

constexpr uint64_t most_bytes = 64 << 20;
constexpr size_t most_counts = 16; ///< of one datatype

std::atomic<uint64_t> kept_bytes = 0;

struct Lists {
    std::mutex mutex;
    std::map<MPI_Count, device::Runs> by_count;
    uint64_t bytes = 0;
    Lists() = default;
    ~Lists() { kept_bytes -= bytes; }
    Lists(const Lists&) = delete;
    Lists& operator=(const Lists&) = delete;
};
/// The attribute of a datatype is a pointer to one: handles of datatypes come again, attributes go.
using Holder = std::shared_ptr<Lists>;

int forget(MPI_Datatype /*type*/, int /*keyval*/, void* holder, void* /*extra*/) {
    delete static_cast<Holder*>(holder);
    return MPI_SUCCESS;
}

int keyval() {
    static const int made = [] {
        int key = MPI_KEYVAL_INVALID;
        MPI_CALL(Type_create_keyval, MPI_TYPE_NULL_COPY_FN, forget, &key, nullptr);
        return key;
    }();
    return made;
}

/// What is kept with a datatype; nullptr: nothing.
Holder find(MPI_Datatype type) {
    void* kept = nullptr;
    int is_found = 0;
    MPI_CALL(Type_get_attr, type, keyval(), &kept, &is_found);
    return is_found != 0 ? *static_cast<const Holder*>(kept) : nullptr;
}

void keep(MPI_Datatype type, const Holder& lists) {
    auto holder = std::make_unique<Holder>(lists);
    MPI_CALL(Type_set_attr, type, keyval(), holder.get());
    static_cast<void>(holder.release());
}

/// One thread at a time: what another one keeps instead would be gone at once.
Holder find_or_keep(MPI_Datatype type) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    Holder lists = find(type);
    if (lists == nullptr) {
        lists = std::make_shared<Lists>();
        keep(type, lists);
    }
    return lists;
}

} // namespace

device::Runs kept_runs(MPI_Datatype type, MPI_Count count,
                       const std::function<device::Runs()>& make) {
    const Holder lists = find_or_keep(type);
    const std::lock_guard lock(lists->mutex);
    const auto found = lists->by_count.find(count);
    if (found != lists->by_count.end()) { return found->second; }
    device::Runs made = make();
    const uint64_t bytes = made.memory();
    if (lists->by_count.size() < most_counts && kept_bytes + bytes <= most_bytes) {
        lists->by_count.emplace(count, made);
        lists->bytes += bytes;
        kept_bytes += bytes;
    }
    return made;
}

/// What fails is made once more.
void share_kept_runs(MPI_Datatype type, MPI_Datatype other) {
    if (kept_bytes == 0) { return; }
    try {
        if (const Holder lists = find(type)) { keep(other, lists); }
    } catch (const MpiError&) {
    } catch (const std::bad_alloc&) {}
}

} // namespace nodeaware
