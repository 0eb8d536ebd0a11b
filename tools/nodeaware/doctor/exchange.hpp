#pragma once

#include <string>

namespace nodeaware::tool::doctor {

/// Exchanges data by MPI_Alltoallv with the library at work, whatever it would choose, and checks
/// them. Initializes and finalizes MPI. Returns what there is to be told (ExchangeFacts as text) on
/// rank 0, nothing on others. Throws MpiError.
std::string exchange(int argc, char** argv);

} // namespace nodeaware::tool::doctor
