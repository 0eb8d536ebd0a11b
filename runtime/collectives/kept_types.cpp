#include "runtime/collectives/kept_types.hpp"

namespace nodeaware {

KeptTypes::KeptTypes(Exchange& exchange) {
    for (UserMemory& memory : exchange.outgoing) { keep(memory); }
    for (UserMemory& memory : exchange.incoming) { keep(memory); }
}

void KeptTypes::keep(UserMemory& memory) {
    if (memory.dense != nullptr) {
        memory = {memory.dense, static_cast<MPI_Count>(memory.bytes), MPI_BYTE, memory.bytes,
                  memory.dense};
        return;
    }
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
