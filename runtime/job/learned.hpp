#pragma once

#include "runtime/job/world.hpp"
#include "tuning/learned_choices.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace nodeaware {

/// What calls have been measured to be fastest by, in this run and, where NODEAWARE_TUNING names a
/// file, in those before it.
class LearnedChoices {
  public:
    /// Collective over MPI_COMM_WORLD: rank 0 reads the file, all ranks know the same. What was
    /// learned elsewhere, or by another version, is refused with a line. Throws MpiError, and
    /// BadSettings where the file is wrong and the settings are strict.
    explicit LearnedChoices(const World& world);

    /// Of runs before: nullptr where nothing is known. All ranks get the same answer.
    const std::string* find(const tuning::ChoiceKey& key) const;
    /// Measured now; `source` as of MeasuredChoices. Threads may call this at the same time.
    void learn(const void* source, const tuning::LearnedChoice& choice);

    /// What the file is to hold: what it does now, and what this rank has learned. Nothing if that
    /// is nothing, or there is to be no file.
    std::optional<std::string> text() const;
    const std::string& path() const { return path_; } ///< empty: no file

  private:
    std::string read(const World& world);

    std::string path_; ///< on rank 0
    tuning::Fingerprint machine_;
    std::map<tuning::ChoiceKey, std::string> known_;
    std::mutex mutex_;
    tuning::MeasuredChoices measured_;
};

} // namespace nodeaware
