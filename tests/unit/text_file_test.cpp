#include "tuning/text_file.hpp"
// What the library and its tools write, and into what.

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <grp.h>
#include <ostream>
#include <pthread.h>
#include <sstream>
#include <stdexcept>
#include <stdio_ext.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

/// What a file system answers that cannot do it; 0: what this one does.
int refusal_of_fchmod = 0;
int refusal_of_rename = 0;

} // namespace

// In the place of the C library's.
extern "C" int fchmod(int file, mode_t mode) noexcept {
    errno = refusal_of_fchmod;
    return refusal_of_fchmod == 0 ? static_cast<int>(syscall(SYS_fchmod, file, mode)) : -1;
}

extern "C" int rename(const char* from, const char* to) noexcept {
    errno = refusal_of_rename;
    return refusal_of_rename == 0 ? renameat(AT_FDCWD, from, AT_FDCWD, to) : -1;
}

namespace nodeaware::tuning {
namespace {

namespace fs = std::filesystem;

/// In a folder of its own.
class TextFile : public testing::Test {
  protected:
    TextFile() { fs::create_directory(folder_); }
    ~TextFile() override { fs::remove_all(folder_); }

    std::string at(const char* name) const { return folder_ / name; }
    size_t files() const {
        return static_cast<size_t>(
            std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }
    static std::string text_of(const std::string& path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    }
    static std::string complaint_of_writing(const std::string& path) {
        try {
            write_text_file(path, "new");
            return "";
        } catch (const std::runtime_error& error) { return error.what(); }
    }

  private:
    fs::path folder_ = fs::temp_directory_path() / ("text_file_test." + std::to_string(getpid()));
};

struct stat status_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status;
}

TEST_F(TextFile, IsReplacedAsAWhole) {
    write_text_file(at("file"), "old");
    const std::ifstream reader(at("file"));
    write_text_file(at("file"), "new");
    std::ostringstream seen;
    seen << reader.rdbuf();
    EXPECT_EQ(seen.str(), "old");
    EXPECT_EQ(text_of(at("file")), "new");
    EXPECT_EQ(files(), 1U);
    EXPECT_TRUE(is_replaced(at("file")));
    EXPECT_TRUE(is_replaced(at("other")));
}

TEST_F(TextFile, LargerThanABuffer) {
    const std::string text(1 << 20, 'x');
    write_text_file(at("file"), text);
    EXPECT_EQ(text_of(at("file")), text);
}

TEST_F(TextFile, KeepsPermissions) {
    write_text_file(at("file"), "old");
    for (const mode_t mode : {0600U, 0664U, 0755U}) {
        ASSERT_EQ(chmod(at("file").c_str(), mode), 0);
        write_text_file(at("file"), "new");
        EXPECT_EQ(status_of(at("file")).st_mode & 07777U, mode);
    }
    if (chown(at("file").c_str(), 12345, 12345) != 0) { GTEST_SKIP() << "not root"; }
    write_text_file(at("file"), "newer");
    EXPECT_EQ(status_of(at("file")).st_uid, 12345U);
    EXPECT_EQ(status_of(at("file")).st_gid, 12345U);
}

template <class Work> bool is_true_in_child(Work work) {
    const pid_t child = fork();
    if (child == 0) { _exit(work() ? 0 : 1); }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/// Of who may not write everything.
bool gives_up_rights() {
    constexpr uid_t nobody = 65534;
    return geteuid() != 0 ||
           (setgroups(0, nullptr) == 0 && setgid(nobody) == 0 && setuid(nobody) == 0);
}

TEST_F(TextFile, IsNotReplacedWhereItIsReadOnly) {
    write_text_file(at("file"), "old");
    ASSERT_EQ(chmod(at("file").c_str(), 0444), 0);
    fs::permissions(fs::path(at("file")).parent_path(), fs::perms::all);
    const std::string denied = at("file") + ": cannot be written: Permission denied";
    EXPECT_TRUE(is_true_in_child([&] {
        return gives_up_rights() && complaint_of_writing(at("file")) == denied &&
               complaint_of_file(at("file")) == denied;
    }));
    EXPECT_EQ(text_of(at("file")), "old");
}

TEST_F(TextFile, WhatItsGroupMayDoAnotherOneMayNot) {
    write_text_file(at("file"), "old");
    if (chown(at("file").c_str(), 12345, 12345) != 0) { GTEST_SKIP() << "not root"; }
    ASSERT_EQ(chmod(at("file").c_str(), 0666), 0);
    fs::permissions(fs::path(at("file")).parent_path(), fs::perms::all);
    EXPECT_TRUE(is_true_in_child(
        [&] { return gives_up_rights() && complaint_of_writing(at("file")).empty(); }));
    EXPECT_EQ(status_of(at("file")).st_mode & 0777U, 0606U);
}

TEST_F(TextFile, IsReplacedWherePermissionsCannotBeChanged) {
    write_text_file(at("file"), "old");
    ASSERT_EQ(chmod(at("file").c_str(), 0600), 0);
    for (const int error : {EPERM, ENOTSUP, ENOSYS}) {
        refusal_of_fchmod = error;
        EXPECT_EQ(complaint_of_writing(at("file")), "") << error;
        EXPECT_EQ(status_of(at("file")).st_mode & 0777U, 0600U);
    }
    ASSERT_EQ(chmod(at("file").c_str(), 0660), 0);
    EXPECT_EQ(complaint_of_writing(at("file")), "");
    EXPECT_EQ(status_of(at("file")).st_mode & 0777U, 0600U); // less is no harm
    ASSERT_EQ(chmod(at("file").c_str(), 0660), 0);
    refusal_of_fchmod = EIO;
    EXPECT_NE(complaint_of_writing(at("file")).find("cannot be written: Input/output error"),
              std::string::npos);
    refusal_of_fchmod = 0;
    EXPECT_EQ(text_of(at("file")), "new");
}

TEST_F(TextFile, IsWrittenInPlaceWhereItIsMountedByItself) {
    write_text_file(at("file"), "old, and longer");
    const ino_t before = status_of(at("file")).st_ino;
    refusal_of_rename = EBUSY;
    EXPECT_EQ(write_text_file(at("file"), "new"), Written::in_place);
    EXPECT_EQ(text_of(at("file")), "new");
    EXPECT_EQ(write_whole(at("file"), "newer"), 0);
    refusal_of_rename = EXDEV;
    EXPECT_NE(complaint_of_writing(at("file")), "");
    refusal_of_rename = 0;
    EXPECT_EQ(text_of(at("file")), "newer");
    EXPECT_EQ(status_of(at("file")).st_ino, before);
    EXPECT_EQ(files(), 1U);
    EXPECT_EQ(write_text_file(at("file"), "new"), Written::as_a_whole);
}

TEST_F(TextFile, MayHaveALongName) {
    const std::string path = at(std::string(250, 'x').c_str());
    EXPECT_EQ(complaint_of_writing(path), "");
    EXPECT_EQ(text_of(path), "new");
    EXPECT_EQ(files(), 1U);
}

TEST_F(TextFile, BeyondALimitOfFilesIsAnError) {
    write_text_file(at("file"), "old");
    EXPECT_TRUE(is_true_in_child([&] {
        const rlimit limit{0, 0};
        return setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
               complaint_of_writing(at("file")) ==
                   at("file") + ": cannot be written: File too large";
    }));
    EXPECT_EQ(text_of(at("file")), "old");
    EXPECT_EQ(files(), 1U);
}

TEST_F(TextFile, IsTheSameUnderEveryName) {
    write_text_file(at("file"), "old");
    fs::create_symlink("file", at("link"));
    fs::create_symlink("new", at("other"));
    EXPECT_TRUE(is_same_file(at("file"), at("link")));
    EXPECT_TRUE(is_same_file(at("new"), at("other")));
    EXPECT_TRUE(is_same_file("-", "/dev/stdout"));
    EXPECT_FALSE(is_same_file(at("file"), at("new")));
    EXPECT_FALSE(is_same_file(at("file"), "-"));
}

TEST_F(TextFile, BehindLinksIsReplacedAndTheLinksStay) {
    fs::create_directory(at("folder"));
    fs::create_symlink("folder/second", at("first"));
    fs::create_symlink("../target", at("folder/second"));
    write_text_file(at("first"), "made"); // the last link led nowhere
    EXPECT_EQ(text_of(at("target")), "made");
    const ino_t before = status_of(at("target")).st_ino;
    write_text_file(at("first"), "new");
    EXPECT_EQ(text_of(at("target")), "new");
    EXPECT_NE(status_of(at("target")).st_ino, before);
    EXPECT_TRUE(fs::is_symlink(at("first")) && fs::is_symlink(at("folder/second")));
    fs::create_symlink("loop", at("loop"));
    EXPECT_EQ(complaint_of_writing(at("loop")),
              at("loop") + ": cannot be written: Too many levels of symbolic links");
}

TEST_F(TextFile, APipeStaysOne) {
    ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
    fs::create_symlink("pipe", at("link"));
    const int reader = open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK);
    ASSERT_GE(reader, 0);
    EXPECT_FALSE(is_replaced(at("link")));
    EXPECT_EQ(complaint_of_file(at("link")), "");
    write_text_file(at("link"), "into the pipe");
    std::array<char, 64> seen{};
    EXPECT_EQ(read(reader, seen.data(), seen.size()), 13);
    EXPECT_STREQ(seen.data(), "into the pipe");
    EXPECT_TRUE(S_ISFIFO(status_of(at("pipe")).st_mode));
    close(reader);
}

TEST_F(TextFile, DevicesStayAndSayWhenTheyAreFull) {
    write_text_file("/dev/null", "nothing");
    EXPECT_TRUE(S_ISCHR(status_of("/dev/null").st_mode));
    EXPECT_EQ(complaint_of_writing("/dev/full"),
              "/dev/full: cannot be written: No space left on device");
    EXPECT_TRUE(S_ISCHR(status_of("/dev/full").st_mode));
}

TEST_F(TextFile, DescriptorsGoOnWhereTheyAre) {
    const int number = open(at("file").c_str(), O_WRONLY | O_CREAT, 0600);
    ASSERT_EQ(write(number, "one ", 4), 4);
    write_text_file("/dev/fd/" + std::to_string(number), "two ");
    ASSERT_EQ(write(number, "three", 5), 5);
    EXPECT_EQ(text_of(at("file")), "one two three");
    close(number);
    EXPECT_EQ(complaint_of_file("/dev/fd/" + std::to_string(number)),
              "/dev/fd/" + std::to_string(number) + ": cannot be written: Bad file descriptor");
}

TEST_F(TextFile, DashIsStandardOutput) {
    for (const std::string path : {"-", "/dev/stdout", "/proc/self/fd/1"}) {
        EXPECT_TRUE(is_standard_output(path)) << path;
        testing::internal::CaptureStdout();
        std::printf("before ");
        write_text_file(path, "it ");
        std::printf("after");
        EXPECT_EQ(testing::internal::GetCapturedStdout(), "before it after") << path;
    }
    EXPECT_FALSE(is_standard_output(at("file")));
    EXPECT_FALSE(is_standard_output("/dev/stderr"));
    EXPECT_FALSE(is_standard_output(""));
    EXPECT_FALSE(fs::exists("-"));
}

TEST_F(TextFile, WhatFailsLeavesTheOldFile) {
    write_text_file(at("file"), "old");
    const auto half = [](std::ostream& file) {
        file << "half" << std::flush;
        throw std::runtime_error("no more");
    };
    EXPECT_THROW(write_file(at("file"), half), std::runtime_error);
    EXPECT_THROW(
        write_file(at("file"), [](std::ostream& file) { file.setstate(std::ios::failbit); }),
        std::runtime_error);
    EXPECT_EQ(text_of(at("file")), "old");
    EXPECT_EQ(files(), 1U);
}

TEST_F(TextFile, SaysWhatCannotBeWritten) {
    const std::string nowhere = at("no/file") + ": cannot be written: No such file or directory";
    EXPECT_EQ(complaint_of_writing(at("no/file")), nowhere);
    EXPECT_EQ(complaint_of_file(at("no/file")), nowhere);
    const std::string folder = fs::path(at("file")).parent_path();
    EXPECT_EQ(complaint_of_writing(folder), folder + ": cannot be written: Is a directory");
    EXPECT_EQ(complaint_of_file(folder), folder + ": cannot be written: Is a directory");
    EXPECT_EQ(complaint_of_file(at("file")), "");
    EXPECT_EQ(files(), 0U);
}

// As the library writes, which has an error number to tell and no time to wait.
TEST_F(TextFile, WholeOrAnErrorNumber) {
    EXPECT_EQ(error_of_file(at("file")), 0);
    EXPECT_EQ(files(), 0U);
    EXPECT_EQ(write_whole(at("file"), "one"), 0);
    EXPECT_EQ(write_whole(at("file"), std::string_view("t\0o", 3)), 0);
    EXPECT_EQ(text_of(at("file")), std::string("t\0o", 3));
    fs::create_symlink(at("file"), at("link"));
    EXPECT_EQ(write_whole(at("link"), "three"), 0);
    EXPECT_TRUE(fs::is_symlink(at("link")));
    EXPECT_EQ(text_of(at("file")), "three");
    EXPECT_EQ(error_of_file(at("none/file")), ENOENT);
    EXPECT_EQ(write_whole(at("none/file"), "four"), ENOENT);
    EXPECT_EQ(error_of_file(fs::path(at("file")).parent_path()), EISDIR);
    EXPECT_EQ(write_whole(fs::path(at("file")).parent_path(), "four"), EISDIR);
    EXPECT_EQ(write_whole("/dev/full", "four"), ENOSPC);
    ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
    EXPECT_EQ(write_whole(at("pipe"), "four"), ENXIO);
    EXPECT_EQ(files(), 3U);
}

/// Into standard output or standard error, a pipe whose reader has gone.
template <class Work> bool is_broken_pipe(int descriptor, Work work) {
    return is_true_in_child([&] {
        std::array<int, 2> ends{};
        if (pipe(ends.data()) != 0 || dup2(ends[1], descriptor) < 0) { return false; }
        close(ends[0]);
        close(ends[1]);
        return work() == EPIPE;
    });
}

TEST_F(TextFile, AReaderThatHasGoneEndsNoProgramButOurs) {
    EXPECT_TRUE(is_broken_pipe(1, [] { return write_whole("/dev/stdout", "text"); }));
    EXPECT_TRUE(is_broken_pipe(2, [] { return write_whole("/dev/stderr", "text"); }));
    EXPECT_TRUE(is_broken_pipe(2, [] { return write_whole_to(2, "text"); }));
    EXPECT_FALSE(is_broken_pipe(1, [] { // by a signal
        return complaint_of_writing("/dev/stdout").empty() ? 0 : EPIPE;
    }));
    // What the program has printed is lost by nobody else, and a signal that it waits for stays.
    EXPECT_TRUE(is_broken_pipe(1, [] {
        sigset_t signals;
        sigemptyset(&signals);
        sigaddset(&signals, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &signals, nullptr);
        raise(SIGPIPE);
        std::printf("printed");
        const int error = write_whole("/dev/stdout", "text");
        const bool is_kept = __fpending(stdout) == 7 && ferror(stdout) == 0;
        return is_kept && sigpending(&signals) == 0 && sigismember(&signals, SIGPIPE) == 1 ? error
                                                                                           : 0;
    }));
}

TEST_F(TextFile, NobodyWaitsForAThreadThatPrints) {
    EXPECT_TRUE(is_true_in_child([&] {
        const int file = open(at("file").c_str(), O_WRONLY | O_CREAT, 0600);
        if (dup2(file, STDOUT_FILENO) < 0) { return false; }
        alarm(60);
        flockfile(stdout);
        int error = EIO;
        std::thread([&error] { error = write_whole("/dev/stdout", "text"); }).join();
        return error == 0;
    }));
    EXPECT_EQ(text_of(at("file")), "text");
}

} // namespace
} // namespace nodeaware::tuning
