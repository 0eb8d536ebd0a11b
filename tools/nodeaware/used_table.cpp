#include "tools/nodeaware/used_table.hpp"

#include "runtime/job/model.hpp"
#include "runtime/job/options.hpp"
#include "runtime/mpi/mpi.hpp"

#include <dlfcn.h>
#include <stdexcept>

namespace nodeaware::tool {

UsedTable used_table() {
    if (const char* missing =
            load_mpi([](const char* name) { return dlsym(RTLD_DEFAULT, name); })) {
        throw std::runtime_error(std::string("this MPI has no ") + missing);
    }
    const std::string wanted = wanted_table(read_options(process_environment()).options);
    return {wanted, tuning::find_table_or_default(wanted)};
}

} // namespace nodeaware::tool
