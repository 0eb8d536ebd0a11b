// The network of an emulated cluster, in user space.
//
//     cluster_wire --settings FILE --report FILE NAMESPACE...
//
// Every NAMESPACE (a path such as /proc/PID/ns/net) is one node. The node gets a TUN device "eth0"
// and this process is the switch between them: node i of the list owns the address 10.77.0.(i+1).
// Packets are never lost, only delayed, by the max-rate model of network cost:
//
//     injection   the node's link is busy for  message_cost * (messages)  +  bytes / rate
//     flight      latency
//     ejection    as injection, at the receiving node's link (only with receive_side=1)
//
// A message is a TCP segment with PSH set, which is how Linux marks the end of one send call. Pure
// acknowledgements travel free of charge and pass the data that waits: they stand for nothing that
// the modelled network would send.
//
// SIGUSR1 reads the settings again, forgets the counters and writes the report.
// SIGUSR2 writes the report. SIGTERM ends the process. "ready" on standard output says that all
// devices exist.

#include "wire_model.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using wire::Clock;
using wire::Nanoseconds;

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void warn(const std::string& what) {
    std::cerr << "wire: " << what << ": " << std::strerror(errno) << std::endl;
}

class FileDescriptor {
  public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~FileDescriptor() {
        if (fd_ >= 0) close(fd_);
    }
    int get() const { return fd_; }

  private:
    int fd_ = -1;
};

FileDescriptor open_or_fail(const std::string& path, int flags) {
    FileDescriptor file(open(path.c_str(), flags | O_CLOEXEC));
    if (file.get() < 0) fail(path);
    return file;
}

// A network device belongs to the namespace that its creator is in. There is no way back for a
// process without rights over the namespace that it came from, and no need: only the devices matter
// later.
FileDescriptor create_device(const std::string& network_namespace) {
    const FileDescriptor target = open_or_fail(network_namespace, O_RDONLY);
    if (setns(target.get(), CLONE_NEWNET) != 0) fail("setns " + network_namespace);
    FileDescriptor device = open_or_fail("/dev/net/tun", O_RDWR | O_NONBLOCK);
    ifreq request{};
    std::strncpy(request.ifr_name, "eth0", sizeof request.ifr_name - 1);
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (ioctl(device.get(), TUNSETIFF, &request) != 0) fail("TUNSETIFF");
    return device;
}

std::vector<FileDescriptor> create_devices(const std::vector<std::string>& network_namespaces) {
    std::vector<FileDescriptor> devices;
    devices.reserve(network_namespaces.size());
    for (const auto& path : network_namespaces) devices.push_back(create_device(path));
    return devices;
}

// Late deliveries are the error of the emulation, so this process goes before all others. Without
// the privilege it works all the same, only with more jitter.
bool become_urgent() {
    if (prctl(PR_SET_TIMERSLACK, 1UL) != 0) warn("timer slack");
    if (mlockall(MCL_CURRENT) != 0) warn("cannot lock memory");
    // Keep freed packet buffers: returning them to the kernel costs page faults later.
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    sched_param priority{};
    priority.sched_priority = 50;
    if (sched_setscheduler(0, SCHED_FIFO, &priority) == 0) return true;
    warn("no real-time priority");
    return false;
}

FileDescriptor create_signal_file() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGUSR1, SIGUSR2, SIGTERM}) sigaddset(&signals, number);
    if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) fail("sigprocmask");
    FileDescriptor file(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (file.get() < 0) fail("signalfd");
    return file;
}

class Switch {
  public:
    Switch(std::vector<FileDescriptor> devices, std::string settings_path, std::string report_path)
        : devices_(std::move(devices)), signals_(create_signal_file()),
          settings_path_(std::move(settings_path)), report_path_(std::move(report_path)),
          model_(devices_.size()) {
        for (const auto& device : devices_) watched_.push_back({device.get(), POLLIN, 0});
        watched_.push_back({signals_.get(), POLLIN, 0});
        realtime_ = become_urgent();
        load_settings();
    }

    void run() {
        while (!ended_) {
            deliver_due_packets();
            wait_for_work();
            for (std::size_t node = 0; node < devices_.size(); ++node)
                if (watched_[node].revents != 0) accept_packets(static_cast<int>(node));
            if (watched_.back().revents != 0) handle_signals();
        }
    }

  private:
    void deliver_due_packets() {
        for (Nanoseconds now = Clock::now(); queue_.due_by(now); now = Clock::now()) {
            const wire::Packet packet = queue_.pop();
            lateness_.record(now - packet.due);
            const int device = devices_[static_cast<std::size_t>(packet.destination)].get();
            const ssize_t written = write(device, packet.bytes.data(), packet.bytes.size());
            // EIO: the node's device is down, as when the cluster is being set up or ended.
            if (written < 0 && errno != EIO) warn("packet lost");
        }
    }

    void wait_for_work() {
        timespec timeout{};
        const timespec* limit = nullptr;
        if (!queue_.empty()) {
            const Nanoseconds wait = std::max<Nanoseconds>(0, queue_.next_due() - Clock::now());
            timeout = {wait / Clock::second, wait % Clock::second};
            limit = &timeout;
        }
        if (ppoll(watched_.data(), watched_.size(), limit, nullptr) < 0) {
            if (errno != EINTR) fail("ppoll");
            for (auto& entry : watched_) entry.revents = 0;
        }
    }

    // Takes a few packets at most, so that a busy node does not delay deliveries to others.
    void accept_packets(int source) {
        constexpr int batch = 8;
        for (int taken = 0; taken < batch; ++taken) {
            const int device = devices_[static_cast<std::size_t>(source)].get();
            const ssize_t length = read(device, buffer_.data(), buffer_.size());
            if (length < 0) {
                if (errno != EAGAIN && errno != EINTR) fail("read from a node's device");
                return;
            }
            const std::uint8_t* begin = buffer_.data();
            const auto header = wire::parse_packet({begin, static_cast<std::size_t>(length)},
                                                   static_cast<int>(devices_.size()));
            if (!header) continue; // IPv6 neighbour discovery and the like: not for this network
            const Nanoseconds due = model_.send(source, *header, Clock::now());
            queue_.push({due, header->destination, {begin, begin + length}});
        }
    }

    void handle_signals() {
        signalfd_siginfo info{};
        while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
            if (info.ssi_signo == SIGTERM) ended_ = true;
            if (info.ssi_signo == SIGUSR1) load_settings();
            write_report();
        }
    }

    void load_settings() {
        std::ifstream file(settings_path_);
        model_.configure(wire::parse_settings(file, std::cerr));
        lateness_ = {};
    }

    // The rename makes sure that a reader never sees half a report.
    void write_report() const {
        const std::string unfinished = report_path_ + ".unfinished";
        std::ofstream file(unfinished);
        model_.report(file);
        lateness_.report(file, realtime_);
        file.close();
        if (!file || std::rename(unfinished.c_str(), report_path_.c_str()) != 0)
            warn("cannot write the report");
    }

    std::vector<FileDescriptor> devices_;
    FileDescriptor signals_;
    std::string settings_path_;
    std::string report_path_;
    wire::CostModel model_;
    wire::DelayQueue queue_;
    wire::Lateness lateness_;
    std::vector<pollfd> watched_;
    std::array<std::uint8_t, 1 << 16> buffer_{};
    bool realtime_ = false;
    bool ended_ = false;
};

struct Options {
    std::string settings;
    std::string report;
    std::vector<std::string> network_namespaces;
};

Options parse_options(int count, char** words) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        if (word == "--settings" && i + 1 < count) {
            options.settings = words[++i];
        } else if (word == "--report" && i + 1 < count) {
            options.report = words[++i];
        } else if (word.starts_with("-")) {
            throw std::runtime_error("unknown option " + word);
        } else {
            options.network_namespaces.push_back(word);
        }
    }
    if (options.settings.empty() || options.report.empty() || options.network_namespaces.empty())
        throw std::runtime_error("usage: --settings FILE --report FILE NAMESPACE...");
    return options;
}

} // namespace

int main(int argc, char** argv) {
    try {
        const Options options = parse_options(argc, argv);
        Switch network(create_devices(options.network_namespaces), options.settings,
                       options.report);
        std::cout << "ready" << std::endl;
        network.run();
    } catch (const std::exception& error) {
        std::cerr << "wire: " << error.what() << std::endl;
        return 1;
    }
    return 0;
}
