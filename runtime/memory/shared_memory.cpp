#include "runtime/memory/shared_memory.hpp"

#include "runtime/job/address_space.hpp"
#include "runtime/job/log.hpp"
#include "runtime/memory/local_group.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

namespace nodeaware {

namespace {

/// How the leader tells the others where the memory is.
struct Announcement {
    std::array<char, 128> path{}; ///< empty: the leader has none
    dev_t device = 0;
    ino_t inode = 0;
    size_t limit = 0; ///< size of the file, with the reserve
};

class File {
  public:
    explicit File(int descriptor) : descriptor_(descriptor) {}
    ~File() {
        if (descriptor_ >= 0) { close(descriptor_); }
    }
    File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    File& operator=(File&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }

    bool is_open() const { return descriptor_ >= 0; }
    int descriptor() const { return descriptor_; }

    bool identify(Announcement& announcement) const {
        struct stat status {};
        if (fstat(descriptor_, &status) != 0) { return false; }
        announcement.device = status.st_dev;
        announcement.inode = status.st_ino;
        return true;
    }

  private:
    int descriptor_;
};

void complain(const char* what) {
    log(LogLevel::info, "shared memory: {}: {}", what, std::strerror(errno));
}

/// To grow a file beyond this limit would not only fail: SIGXFSZ ends the process.
bool is_within_limit(size_t bytes) {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0) {
        complain("getrlimit");
        return false;
    }
    if (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur) { return true; }
    log(LogLevel::info, "shared memory: {} bytes are more than a file may have (ulimit -f)", bytes);
    return false;
}

/// Removes the name of a file that has one.
class Name {
  public:
    explicit Name(const char* path) : path_(path) {}
    ~Name() {
        if (path_ != nullptr && unlink(path_) != 0) { complain(path_); }
    }
    Name(const Name&) = delete;
    Name& operator=(const Name&) = delete;

  private:
    const char* path_;
};

/// Anonymous memory that others reach through /proc. Not limited by the size of /dev/shm, which is
/// often tiny in containers.
File create_anonymous(size_t /*bytes*/, Announcement& announcement) {
    File file(memfd_create("nodeaware", MFD_CLOEXEC));
    if (!file.is_open() ||
        ftruncate(file.descriptor(), static_cast<off_t>(announcement.limit)) != 0) {
        complain("memfd_create");
        return File(-1);
    }
    // The number of this process as seen by those who read the same /proc, whatever namespace it
    // runs in.
    std::array<char, 32> self{};
    if (readlink("/proc/self", self.data(), self.size() - 1) <= 0 || !file.identify(announcement)) {
        complain("/proc/self");
        return File(-1);
    }
    std::snprintf(announcement.path.data(), announcement.path.size(), "/proc/%s/fd/%d", self.data(),
                  file.descriptor());
    return file;
}

/// MPI and other programs need room in that file system, too.
bool leaves_room(int file, size_t bytes) {
    struct statvfs room {};
    if (fstatvfs(file, &room) != 0 || room.f_blocks == 0) { return true; } // without a limit
    const auto blocks = bytes / room.f_frsize + 1;
    return room.f_bavail >= room.f_blocks / 4 && room.f_bavail - room.f_blocks / 4 >= blocks;
}

/// Beyond the first memory; a program may have hundreds of communicators.
bool is_too_much_in_dev_shm(size_t bytes) {
    constexpr size_t most = size_t{1} << 30;
    const size_t used = SharedMemory::bytes_in_dev_shm();
    if (used == 0 || used + bytes <= most) { return false; }
    log(LogLevel::info,
        "shared memory: {} bytes of /dev/shm are in use, and not more than {} are taken", used,
        most);
    return true;
}

/// A file in /dev/shm, for systems where processes cannot look into each other's /proc. Its space
/// (not that of the reserve) is taken at once: to run out of it later would be a bus error.
File create_named(size_t bytes, Announcement& announcement) {
    if (is_too_much_in_dev_shm(bytes)) { return File(-1); }
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random) {
        random = static_cast<uint64_t>(getpid());
    }
    std::array<char, 128> path{};
    std::snprintf(path.data(), path.size(), "/dev/shm/nodeaware-%016llx",
                  static_cast<unsigned long long>(random));
    File file(open(path.data(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.is_open()) {
        complain(path.data());
        return file;
    }
    errno = leaves_room(file.descriptor(), bytes)
                ? posix_fallocate(file.descriptor(), 0, static_cast<off_t>(bytes))
                : ENOSPC;
    if (errno != 0 || ftruncate(file.descriptor(), static_cast<off_t>(announcement.limit)) != 0 ||
        !file.identify(announcement)) {
        complain(path.data());
        const Name unwanted(path.data());
        return File(-1);
    }
    announcement.path = path;
    return file;
}

File open_announced(const Announcement& announcement) {
    File file(open(announcement.path.data(), O_RDWR | O_CLOEXEC));
    Announcement found;
    if (!file.is_open()) {
        complain(announcement.path.data());
        return file;
    }
    const bool same = file.identify(found) && found.device == announcement.device &&
                      found.inode == announcement.inode;
    return same ? std::move(file) : File(-1); // another process under the same number
}

/// The reserve costs nothing as long as it is not used, but files may not be as large as one likes.
size_t with_reserve(size_t bytes, size_t reserve) {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return bytes + reserve;
    }
    return std::max<size_t>(bytes, std::min<size_t>(bytes + reserve, limit.rlim_cur));
}

using Creator = File (*)(size_t, Announcement&);

struct Shared {
    File file;
    size_t limit = 0; ///< its size, with the reserve
};

/// A file made in one of the two ways, open on all members; on none if one of them cannot find it.
Shared share(const LocalGroup& group, size_t bytes, size_t reserve, Creator creator) {
    Announcement announcement;
    File file(-1);
    if (group.is_leader() && is_within_limit(bytes)) {
        announcement.limit = with_reserve(bytes, reserve);
        file = creator(bytes, announcement);
    }
    const bool is_named = creator == create_named && file.is_open();
    const Name name(is_named ? announcement.path.data() : nullptr); // for as long as they look
    if (group.is_leader() && !file.is_open()) { announcement.path[0] = '\0'; }
    group.broadcast(&announcement, sizeof announcement);
    if (announcement.path[0] == '\0') { return {File(-1)}; }
    if (!group.is_leader()) { file = open_announced(announcement); }
    if (!group.all(file.is_open())) { return {File(-1)}; }
    return {std::move(file), announcement.limit};
}

std::byte* map(const File& file, size_t bytes) {
    if (!address_space::take(bytes)) {
        log(LogLevel::info,
            "shared memory: {} more bytes are too much of what is allowed (ulimit -v)", bytes);
        return nullptr;
    }
    void* const memory = address_space::map(bytes, MAP_SHARED, file.descriptor());
    if (memory == nullptr) {
        complain("mmap");
        address_space::give_back(bytes);
    }
    return static_cast<std::byte*>(memory);
}

} // namespace

SharedMemory SharedMemory::create(const LocalGroup& group, size_t bytes, size_t reserve) {
    for (const Creator creator : {create_anonymous, create_named}) {
        const Shared shared = share(group, bytes, reserve, creator);
        if (!shared.file.is_open()) { continue; }
        std::byte* const data = map(shared.file, bytes);
        SharedMemory memory(data, data == nullptr ? 0 : bytes, shared.limit,
                            creator == create_named);
        // Who has no room for it has none for that of the other way.
        return group.all(data != nullptr) ? std::move(memory) : SharedMemory();
    }
    return {};
}

} // namespace nodeaware
