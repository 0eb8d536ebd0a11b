#include "runtime/job/learned.hpp"

#include "runtime/job/log.hpp"
#include "runtime/job/model.hpp"
#include "runtime/job/versions.hpp"
#include "runtime/job/ways.hpp"
#include "tuning/text_file.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace nodeaware {

namespace {

using tuning::LearnedChoice;
using tuning::LearnedSetup;

tuning::Fingerprint machine_of(const World& world) {
    tuning::Fingerprint machine = fingerprint_of(world);
    machine.library_version = library_version();
    return machine;
}

/// The setups of a file; none if there is no file. Throws TableError.
std::vector<LearnedSetup> setups_in(const std::string& path) {
    if (!std::filesystem::exists(path)) { return {}; }
    std::string text;
    try {
        text = tuning::read_text_file(path);
    } catch (const tuning::FileError& error) {
        throw tuning::TableError(path + ": " + error.what());
    }
    return tuning::parse_learned(text, path);
}

bool is_usable(const LearnedChoice& choice) {
    const auto names = names_of_ways();
    return std::find(names.begin(), names.end(), choice.candidate) != names.end();
}

std::string described(const tuning::Fingerprint& machine) {
    return "library " + machine.library_version + " with " + machine.mpi + " " +
           machine.mpi_version + " on " + machine.host_model;
}

/// As this job, but for versions or processors: it would be taken for what holds here.
bool is_stale(const tuning::Fingerprint& known, const tuning::Fingerprint& job) {
    return known != job && known.mpi == job.mpi && known.nodes == job.nodes &&
           known.processes_per_node == job.processes_per_node;
}

} // namespace

/// On rank 0: what is known, as text.
std::string LearnedChoices::read(const World& world) {
    path_ = std::filesystem::absolute(world.options.tuning).string();
    machine_ = machine_of(world);
    LearnedSetup known{machine_, {}};
    for (LearnedSetup& setup : setups_in(path_)) {
        if (is_stale(setup.machine, machine_)) {
            log(LogLevel::warn, "NODEAWARE_TUNING: {}: not used is what {} learned; this is {}",
                path_, described(setup.machine), described(machine_));
        }
        if (setup.machine == machine_) { known.choices = std::move(setup.choices); }
    }
    std::erase_if(known.choices, [](const auto& choice) { return !is_usable(choice); });
    return known.choices.empty() ? "" : tuning::to_json_text({known});
}

/// The others wait for rank 0, whatever it meets.
LearnedChoices::LearnedChoices(const World& world) {
    if (world.options.tuning.empty()) { return; }
    std::string complaint = "rank 0 does not accept what NODEAWARE_TUNING names";
    std::string text;
    int size = 0;
    if (world.rank == 0) {
        try {
            text = read(world);
            size = static_cast<int>(text.size());
        } catch (const std::exception& error) {
            path_.clear(); // it is not replaced by what it is not
            complaint = std::string("NODEAWARE_TUNING: ") + error.what();
            if (!world.options.strict) { write_log(LogLevel::warn, complaint); }
            size = world.options.strict ? -1 : 0;
        }
    }
    MPI_CALL(Bcast, &size, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (size < 0) { throw BadSettings(complaint); }
    if (size == 0) { return; }
    text.resize(static_cast<size_t>(size));
    MPI_CALL(Bcast, text.data(), size, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (const LearnedSetup& setup : tuning::parse_learned(text, "rank 0")) {
        for (const LearnedChoice& choice : setup.choices) { known_[choice.key] = choice.candidate; }
    }
}

const std::string* LearnedChoices::find(const tuning::ChoiceKey& key) const {
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : &found->second;
}

void LearnedChoices::learn(const void* source, const LearnedChoice& choice) {
    if (path_.empty()) { return; }
    const std::lock_guard lock(mutex_);
    measured_.add(source, choice);
}

std::optional<std::string> LearnedChoices::text() const {
    const std::vector<LearnedChoice> choices = measured_.choices();
    if (path_.empty() || choices.empty()) { return std::nullopt; }
    std::vector<LearnedSetup> setups = setups_in(path_);
    std::erase_if(setups, [&](const auto& setup) { return is_stale(setup.machine, machine_); });
    tuning::merge(setups, machine_, choices);
    return tuning::to_json_text(setups);
}

} // namespace nodeaware
