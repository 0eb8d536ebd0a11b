#pragma once

#include "runtime/job/world.hpp"
#include "tuning/model_table.hpp"

namespace nodeaware {

/// Which MPI and kind of host this process has. MPI need not be initialized.
tuning::Fingerprint fingerprint_of_process();

/// Which machine, MPI and layout this job runs on. Collective over nothing; `world` must know its
/// nodes.
tuning::Fingerprint fingerprint_of(const World& world);

/// How a table's machine differs from this job's: "the table was measured with ...; this is ...",
/// or nothing. What the table does not know does not differ.
std::string difference(const tuning::Fingerprint& table, const tuning::Fingerprint& job);

/// The table that a job asks for: the one that NODEAWARE_MODEL names, else the one that `nodeaware
/// calibrate` wrote for this user, this MPI and this kind of host, else such a one in
/// PREFIX/etc/nodeaware of the installation, else none: the default one.
std::string wanted_table(const Options& options);

/// The folder of the user's own tables; empty: there is no home.
std::string user_tables();

struct LoadedCosts {
    Costs costs;
    std::string table; ///< the name, or the path, of the table that they are from
};
/// What moves cost on this machine, from wanted_table(). Collective over MPI_COMM_WORLD: rank 0
/// reads, all ranks get the same. A table that cannot be used is replaced by the default one with a
/// warning. Throws MpiError, and BadSettings where the settings are strict.
LoadedCosts load_costs(const World& world);

} // namespace nodeaware
