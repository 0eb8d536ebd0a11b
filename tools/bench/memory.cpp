#include "memory.hpp"

#include "mpi_forms.hpp"
#include "program.hpp"

#include <cstdlib>
#include <cstring>

namespace bench {
namespace {

// Collective: all ranks throw what the first one complains of.
void throw_first(std::string complaint, MPI_Comm comm) {
    int rank = 0;
    int ranks = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
    const int mine = complaint.empty() ? ranks : rank;
    int first = 0;
    check(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
    if (first == ranks) return;
    auto length = static_cast<int>(complaint.size());
    check(MPI_Bcast(&length, 1, MPI_INT, first, comm), "MPI_Bcast");
    complaint.resize(static_cast<std::size_t>(length));
    check(MPI_Bcast(complaint.data(), length, MPI_CHAR, first, comm), "MPI_Bcast");
    throw InputError("rank " + std::to_string(first) + " has no memory of devices: " + complaint);
}

} // namespace

void Memory::open(const std::string& name, MPI_Comm comm) {
    name_ = name;
    check(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
    if (is_on_host()) return;
    std::string complaint = gpu_.open();
    try {
        if (complaint.empty()) gpu_.use(rank_ % gpu_.devices());
    } catch (const nodeaware::tool::GpuError& error) { complaint = error.what(); }
    throw_first(complaint, comm);
}

Place Memory::place(int buffer) const {
    if (name_ == "mixed") return static_cast<Place>((rank_ + buffer) % 3);
    if (name_ == "managed") return Place::managed;
    return is_on_host() ? Place::host : Place::device;
}

bool does_mpi_take_devices() {
    const char* const said = std::getenv("NODEAWARE_DEVICE_AWARE");
    if (said != nullptr && std::strcmp(said, "yes") == 0) return true;
    return nodeaware::tool::mpi_takes_devices();
}

Bytes::Bytes(Memory& memory, Place place, std::size_t size) : gpu_(memory.gpu()), host_(size) {
    using nodeaware::tool::DeviceBuffer;
    using nodeaware::tool::ReachableMemory;
    if (place == Place::host) return;
    device_ = std::make_unique<DeviceBuffer>(gpu_, size, place == Place::managed);
    if (size > 0) pinned_ = std::make_unique<ReachableMemory>(gpu_, host_.data(), size);
}

unsigned char* Bytes::data() {
    if (device_ == nullptr || are_on_host_) return host_.data();
    return reinterpret_cast<unsigned char*>(device_->data());
}

void Bytes::copy_off_device(int offset, int bytes) {
    if (device_ == nullptr || bytes == 0) return;
    const auto from = static_cast<std::size_t>(offset);
    gpu_.copy_to_host(host_.data() + offset, device_->address() + from,
                      static_cast<std::size_t>(bytes));
}

void Bytes::copy_to_device(int offset, int bytes) {
    if (device_ == nullptr || bytes == 0) return;
    const auto to = static_cast<std::size_t>(offset);
    gpu_.copy_to_device(device_->address() + to, host_.data() + offset,
                        static_cast<std::size_t>(bytes));
}

void Bytes::write() {
    if (device_ != nullptr) gpu_.copy_to_device(device_->address(), host_.data(), host_.size());
}

void Bytes::read() {
    if (device_ != nullptr) gpu_.copy_to_host(host_.data(), device_->address(), host_.size());
}

} // namespace bench
