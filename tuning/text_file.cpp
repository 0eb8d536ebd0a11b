#include "tuning/text_file.hpp"

#include "tuning/signalless_write.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <ostream>
#include <poll.h>
#include <stdexcept>
#include <streambuf>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace nodeaware::tuning {

namespace {

class Descriptor {
  public:
    explicit Descriptor(const std::string& path)
        : number_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
        if (number_ < 0) { throw FileError(std::strerror(errno)); }
    }
    ~Descriptor() { close(number_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int number() const { return number_; }

  private:
    int number_;
};

/// What a path leads to.
struct Target {
    std::string name;               ///< as it was given, for complaints
    std::string path;               ///< behind all links
    int descriptor = -1;            ///< of this process
    bool is_regular = true;         ///< or will be
    std::optional<struct stat> old; ///< of the regular file that is there

    bool is_replaced() const { return descriptor < 0 && is_regular; }
    [[noreturn]] void fail(int error) const {
        throw WriteError(name + ": cannot be written: " + std::strerror(error), error);
    }
};

/// N of /proc/self/fd/N, whatever it is called; else -1. Opened by name it would begin anew.
int own_descriptor(const std::filesystem::path& path) {
    std::error_code error;
    const std::filesystem::path own = std::filesystem::canonical("/proc/self/fd", error);
    if (error || std::filesystem::canonical(path.parent_path(), error) != own || error) {
        return -1;
    }
    const std::string name = path.filename();
    int number = -1;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
    return wrong == std::errc() && end == name.data() + name.size() ? number : -1;
}

Target target_of(const std::string& name) {
    Target target{name, {}, -1, true, {}};
    if (name == "-") {
        target.descriptor = STDOUT_FILENO;
        return target;
    }
    std::error_code error;
    std::filesystem::path path = name.find('/') == std::string::npos ? "./" + name : name;
    constexpr int most_links = 40; // as Linux has it
    for (int links = 0; target.descriptor < 0; ++links) {
        target.descriptor = own_descriptor(path);
        if (target.descriptor >= 0 || !std::filesystem::is_symlink(path, error)) { break; }
        if (links == most_links) { target.fail(ELOOP); }
        path = path.parent_path() / std::filesystem::read_symlink(path, error);
        if (error) { target.fail(error.value()); }
    }
    target.path = path;
    if (target.descriptor >= 0) { return target; }
    struct stat found {};
    if (stat(target.path.c_str(), &found) != 0) {
        if (errno != ENOENT) { target.fail(errno); }
        return target;
    }
    target.is_regular = S_ISREG(found.st_mode);
    if (target.is_regular) { target.old = found; }
    return target;
}

/// Writes to a descriptor and remembers why it could not.
class DescriptorBuffer : public std::streambuf {
  public:
    DescriptorBuffer(int descriptor, WithoutReader without)
        : descriptor_(descriptor), without_(without) {
        setp(bytes_.data(), bytes_.data() + bytes_.size());
    }
    int error() const { return error_; }

  protected:
    int_type overflow(int_type letter) override {
        if (!drain()) { return traits_type::eof(); }
        if (letter != traits_type::eof()) { sputc(traits_type::to_char_type(letter)); }
        return traits_type::not_eof(letter);
    }
    int sync() override { return drain() ? 0 : -1; }

  private:
    bool drain() {
        for (const char* next = pbase(); next < pptr() && error_ == 0;) {
            const ssize_t written =
                write_signalless(descriptor_, next, static_cast<size_t>(pptr() - next), without_);
            if (written > 0) {
                next += written;
            } else if (written == 0) {
                error_ = EIO;
            } else if (errno == EAGAIN) { // somebody else has made the pipe so
                pollfd room{descriptor_, POLLOUT, 0};
                if (poll(&room, 1, -1) < 0 && errno != EINTR) { error_ = errno; }
            } else if (errno != EINTR) {
                error_ = errno;
            }
        }
        setp(bytes_.data(), bytes_.data() + bytes_.size());
        return error_ == 0;
    }

    int descriptor_;
    WithoutReader without_;
    int error_ = 0;
    std::array<char, 65536> bytes_;
};

/// Of a tool, or of the library inside a program: what that is in the middle of, and what it ends
/// with, is its own, and a pipe without a reader is an error.
enum class Writer { tool, library };

bool has_reader(int descriptor) {
    pollfd look{descriptor, POLLOUT, 0};
    return poll(&look, 1, 0) <= 0 || (look.revents & POLLERR) == 0;
}

/// What was printed comes first. In a program it stays where it is while a thread prints, which may
/// have been interrupted to end it; and where nobody reads it, for then it ends the program, but
/// not here. Returns errno, or 0.
int flush_printed(Writer writer) {
    if (writer == Writer::library) {
        if (!has_reader(STDOUT_FILENO)) { return EPIPE; }
        if (ftrylockfile(stdout) != 0) { return 0; }
    }
    const int error = std::fflush(stdout) == 0 ? 0 : errno;
    if (writer == Writer::library) { funlockfile(stdout); }
    return error;
}

/// Some file systems have neither owners nor permissions, or cannot change them, and who is not
/// root cannot give files away.
bool is_refused(int error) {
    return error == EPERM || error == EINVAL || error == ENOTSUP || error == ENOSYS;
}

/// An open file, which is gone if it is not finished.
class Output {
  public:
    Output(const Target& target, Writer writer) : target_(target) {
        if (target.descriptor >= 0) {
            const bool is_stdout = target.descriptor == STDOUT_FILENO;
            if (const int error = is_stdout ? flush_printed(writer) : 0) { target.fail(error); }
            descriptor_ = fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0);
        } else if (target.is_regular) {
            refuse_read_only();
            open_temporary();
        } else {
            const int more = writer == Writer::library ? O_NONBLOCK : 0;
            descriptor_ = open(target.path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC | more);
        }
        if (descriptor_ < 0) {
            const int error = errno;
            temporary_.clear();
            target.fail(error);
        }
    }
    ~Output() {
        if (descriptor_ >= 0) { close(descriptor_); }
        if (!temporary_.empty()) { unlink(temporary_.c_str()); }
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    int descriptor() const { return descriptor_; }

    Written finish() {
        if (target_.is_replaced() && target_.old) { keep_permissions(); }
        const int closed = close(descriptor_); // some file systems write only now
        descriptor_ = -1;
        if (closed != 0) { target_.fail(errno); }
        if (temporary_.empty()) { return Written::in_place; }
        if (std::rename(temporary_.c_str(), target_.path.c_str()) == 0) {
            temporary_.clear();
            return Written::as_a_whole;
        }
        if (errno != EBUSY) { target_.fail(errno); }
        overwrite();
        return Written::in_place;
    }

  private:
    /// It could be replaced nevertheless, in a folder that is not.
    void refuse_read_only() const {
        if (target_.old && access(target_.path.c_str(), W_OK) != 0) { target_.fail(errno); }
    }

    /// Another host may have a process of this number, or one that was killed may have had it.
    void open_temporary() {
        const std::filesystem::path path = target_.path;
        constexpr size_t most_letters = 100; // of its name, for the whole has to fit, too
        const std::string begin = path.filename().string().substr(0, most_letters);
        const std::string name = path.parent_path() / (begin + ".tmp." + std::to_string(getpid()));
        // No more than others could before, also where permissions cannot be changed later.
        const mode_t mode = target_.old ? target_.old->st_mode & 0707U : 0666U;
        constexpr int most_tries = 100;
        errno = EEXIST;
        for (int i = 0; i < most_tries && descriptor_ < 0 && errno == EEXIST; ++i) {
            temporary_ = i == 0 ? name : name + "." + std::to_string(i);
            descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        }
    }

    /// A file that is mounted by itself cannot be replaced. What fails half-way leaves the
    /// temporary file, for the old text is gone.
    void overwrite() {
        const std::string text = read_text_file(temporary_);
        descriptor_ = open(target_.path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
        if (descriptor_ < 0) { target_.fail(errno); }
        DescriptorBuffer buffer(descriptor_, WithoutReader::ends);
        std::ostream(&buffer) << text << std::flush;
        const int closed = close(std::exchange(descriptor_, -1)) == 0 ? 0 : errno;
        if (const int error = buffer.error() != 0 ? buffer.error() : closed) {
            const std::string whole = std::exchange(temporary_, "");
            throw WriteError(target_.name + ": cannot be written: " + std::strerror(error) +
                                 "; what was to be there is in " + whole,
                             error);
        }
    }

    /// Nor can an owner be given a file who is unknown in a container.
    bool give_to(uid_t user, gid_t group) const {
        if (fchown(descriptor_, user, group) == 0) { return true; }
        if (!is_refused(errno)) { target_.fail(errno); }
        return false;
    }

    void keep_permissions() const {
        const struct stat& old = *target_.old;
        struct stat made {};
        if (fstat(descriptor_, &made) != 0) { target_.fail(errno); }
        constexpr auto same_user = static_cast<uid_t>(-1);
        constexpr auto same_group = static_cast<gid_t>(-1);
        const bool has_group = made.st_gid == old.st_gid || give_to(same_user, old.st_gid);
        if (made.st_uid != old.st_uid) { give_to(old.st_uid, same_group); }
        // What its group may do another one may not.
        const mode_t wanted = old.st_mode & (has_group ? 0777U : 0707U);
        const bool is_so = (made.st_mode & 07777U) == wanted;
        if (!is_so && fchmod(descriptor_, wanted) != 0 && !is_refused(errno)) {
            target_.fail(errno);
        }
    }

    const Target& target_;
    std::string temporary_;
    int descriptor_ = -1;
};

/// Throws WriteError, and what `write` throws.
Written write_to(const Target& target, const std::function<void(std::ostream&)>& write,
                 Writer writer) {
    Output output(target, writer);
    DescriptorBuffer buffer(output.descriptor(),
                            writer == Writer::library ? WithoutReader::fails : WithoutReader::ends);
    std::ostream stream(&buffer);
    write(stream);
    stream.flush();
    if (!stream) { target.fail(buffer.error() != 0 ? buffer.error() : EIO); }
    return output.finish();
}

/// Throws what writing would throw, as far as can be told before.
void look_at(const Target& target) {
    if (target.descriptor >= 0) {
        if (fcntl(target.descriptor, F_GETFD) < 0) { target.fail(errno); }
        return;
    }
    if (std::filesystem::is_directory(target.path)) { target.fail(EISDIR); }
    const bool is_there = target.old || !target.is_regular;
    if (is_there && access(target.path.c_str(), W_OK) != 0) { target.fail(errno); }
    const std::string folder = std::filesystem::path(target.path).parent_path();
    if (target.is_regular && access(folder.c_str(), W_OK | X_OK) != 0) { target.fail(errno); }
}

template <typename Work> int errno_of(const Work& work) {
    try {
        work();
        return 0;
    } catch (const WriteError& error) {
        return error.error;
    } catch (const std::filesystem::filesystem_error& error) {
        return error.code().value();
    } catch (const std::exception&) { return ENOMEM; }
}

std::string as_file(const std::string& path) { return path == "-" ? "./-" : path; }

} // namespace

std::string read_text_file(const std::string& path) {
    const Descriptor file(path);
    struct stat status {};
    if (fstat(file.number(), &status) != 0) { throw FileError(std::strerror(errno)); }
    if (!S_ISREG(status.st_mode)) { throw FileError("expected a regular file"); }
    std::string text;
    std::array<char, 65536> part;
    while (true) {
        const ssize_t bytes = read(file.number(), part.data(), part.size());
        if (bytes < 0 && errno == EINTR) { continue; }
        if (bytes < 0) { throw FileError(std::strerror(errno)); }
        if (bytes == 0) { return text; }
        text.append(part.data(), static_cast<size_t>(bytes));
    }
}

Written write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
    return write_to(target_of(path), write, Writer::tool);
}

Written write_text_file(const std::string& path, const std::string& text) {
    return write_file(path, [&text](std::ostream& file) { file << text; });
}

std::string complaint_of_file(const std::string& path) {
    try {
        look_at(target_of(path));
        return "";
    } catch (const std::exception& error) { return error.what(); }
}

int write_whole(const std::string& path, std::string_view bytes) {
    return errno_of([&] {
        write_to(
            target_of(as_file(path)), [&](std::ostream& file) { file << bytes; }, Writer::library);
    });
}

int write_whole_to(int descriptor, std::string_view bytes) {
    return errno_of([&] {
        write_to(
            {std::to_string(descriptor), {}, descriptor, false, {}},
            [&](std::ostream& file) { file << bytes; }, Writer::library);
    });
}

int error_of_file(const std::string& path) {
    return errno_of([&] { look_at(target_of(as_file(path))); });
}

bool is_replaced(const std::string& path) { return target_of(path).is_replaced(); }

bool is_same_file(const std::string& path, const std::string& other) {
    const Target one = target_of(path);
    const Target two = target_of(other);
    if (one.descriptor >= 0 || two.descriptor >= 0) { return one.descriptor == two.descriptor; }
    if (one.old && two.old) {
        return one.old->st_dev == two.old->st_dev && one.old->st_ino == two.old->st_ino;
    }
    return std::filesystem::weakly_canonical(one.path) ==
           std::filesystem::weakly_canonical(two.path);
}

bool is_standard_output(const std::string& path) {
    return target_of(path).descriptor == STDOUT_FILENO;
}

} // namespace nodeaware::tuning
