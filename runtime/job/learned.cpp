#include "runtime/job/learned.hpp"

#include "runtime/job/log.hpp"
#include "runtime/job/model.hpp"
#include "runtime/job/versions.hpp"
#include "tuning/text_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
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
    return choice.candidate == "native" || find_strategy(choice.candidate) != nullptr;
}

/// As this job, but for versions or processors: it would be taken for what holds here.
bool is_stale(const tuning::Fingerprint& known, const tuning::Fingerprint& job) {
    return known != job && known.mpi == job.mpi && known.nodes == job.nodes &&
           known.processes_per_node == job.processes_per_node;
}

} // namespace

/// On rank 0.
void LearnedChoices::read(const World& world, std::string& complaint) {
    path_ = std::filesystem::absolute(world.options.tuning).string();
    machine_ = machine_of(world);
    try {
        for (const LearnedSetup& setup : setups_in(path_)) {
            if (is_stale(setup.machine, machine_)) {
                log(LogLevel::warn,
                    "NODEAWARE_TUNING: {}: what library {} with {} {} on {} learned is not used: "
                    "{}",
                    path_, setup.machine.library_version, setup.machine.mpi,
                    setup.machine.mpi_version, setup.machine.host_model,
                    "this is library " + machine_.library_version + " with " + machine_.mpi + " " +
                        machine_.mpi_version + " on " + machine_.host_model);
            }
            if (setup.machine != machine_) { continue; }
            for (const LearnedChoice& choice : setup.choices) {
                if (is_usable(choice)) { known_[choice.key] = choice.candidate; }
            }
        }
    } catch (const std::exception& error) { // also of the file system
        complaint = std::string("NODEAWARE_TUNING: ") + error.what();
        known_.clear();
        path_.clear(); // it is not replaced by what it is not
    }
}

LearnedChoices::LearnedChoices(const World& world) {
    if (world.options.tuning.empty()) { return; }
    std::string complaint = "rank 0 does not accept what NODEAWARE_TUNING names";
    std::string text;
    bool is_refused = false;
    if (world.rank == 0) {
        complaint.clear();
        read(world, complaint);
        is_refused = !complaint.empty() && world.options.strict;
        if (!complaint.empty() && !is_refused) { write_log(LogLevel::warn, complaint); }
        LearnedSetup known{machine_, {}};
        for (const auto& [key, candidate] : known_) { known.choices.push_back({key, candidate}); }
        if (!known_.empty()) { text = tuning::to_json_text({known}); }
    }
    int size = is_refused ? -1 : static_cast<int>(text.size());
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

void LearnedChoices::learn(const tuning::ChoiceKey& key, std::string candidate, double seconds) {
    if (path_.empty()) { return; }
    const std::lock_guard lock(mutex_);
    learned_[key] = {key, std::move(candidate), seconds};
}

std::optional<std::string> LearnedChoices::text() const {
    if (path_.empty() || learned_.empty()) { return std::nullopt; }
    std::vector<LearnedSetup> setups = setups_in(path_);
    std::erase_if(setups, [&](const auto& setup) { return is_stale(setup.machine, machine_); });
    std::vector<LearnedChoice> choices;
    for (const auto& [key, choice] : learned_) { choices.push_back(choice); }
    tuning::merge(setups, machine_, choices);
    return tuning::to_json_text(setups);
}

} // namespace nodeaware
