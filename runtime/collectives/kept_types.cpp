#include "runtime/collectives/kept_types.hpp"

#include "runtime/communicators/self_communicator.hpp"
#include "runtime/memory/device_copy.hpp"

#include <new>

namespace nodeaware {

KeptTypes::KeptTypes(Exchange& exchange) {
    for (UserMemory& memory : exchange.outgoing) { keep(memory); }
    for (UserMemory& memory : exchange.incoming) { keep(memory); }
}

/// As long as the application's datatype is there, where the next exchange will find them.
void KeptTypes::list_runs(const UserMemory& memory) {
    const bool has_runs = memory.place.is_on_device && memory.dense_on_device == nullptr;
    if (!has_runs) { return; }
    try {
        runs_of(memory, self_communicator());
    } catch (const MpiError&) {
    } catch (const std::bad_alloc&) {} // who copies will be told
}

void KeptTypes::keep(UserMemory& memory) {
    if (memory.dense != nullptr) {
        memory = {memory.dense, static_cast<MPI_Count>(memory.bytes), MPI_BYTE, memory.bytes,
                  memory.dense};
        return;
    }
    list_runs(memory);
    auto [found, is_new] = kept_.try_emplace(memory.type, MPI_DATATYPE_NULL);
    if (is_new) { found->second = keep_datatype(memory.type); }
    memory.type = found->second;
}

KeptTypes::~KeptTypes() {
    for (auto& [original, kept] : kept_) {
        if (kept != MPI_DATATYPE_NULL) { mpi.Type_free(&kept); }
    }
}

} // namespace nodeaware
