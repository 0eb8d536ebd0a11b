#pragma once

#include "runtime/memory/exchange.hpp"

#include <map>

namespace nodeaware {

/// Datatypes of an exchange that outlives the call which brought it: the application may free its
/// own.
class KeptTypes {
  public:
    KeptTypes() = default;
    /// Keeps the datatypes that will be needed, and names them in the exchange. Throws
    /// MpiError.
    explicit KeptTypes(Exchange& exchange);
    ~KeptTypes();
    KeptTypes(const KeptTypes&) = delete;
    KeptTypes& operator=(const KeptTypes&) = delete;

    /// The same for one memory.
    void keep(UserMemory& memory);

  private:
    static void list_runs(const UserMemory& memory);

    std::map<MPI_Datatype, MPI_Datatype> kept_; ///< by the application's
};

} // namespace nodeaware
