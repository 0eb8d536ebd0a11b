#pragma once

#include "tuning/model_table.hpp"

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace nodeaware::tuning {

/// The calls that a choice is for: one operation on communicators of so many ranks.
struct ChoiceKey {
    std::string operation;
    int ranks = 0;
    int nodes = 0;
    int ranks_per_node = 0; ///< on the node with most of them
    int size_class = 0;     ///< bits of the size of each block in bytes; 0: not all are of one size
    bool operator==(const ChoiceKey&) const = default;
    bool operator<(const ChoiceKey& other) const { return parts() < other.parts(); }

  private:
    std::tuple<const std::string&, int, int, int, int> parts() const {
        return {operation, ranks, nodes, ranks_per_node, size_class};
    }
};

/// What was measured to be fastest for them.
struct LearnedChoice {
    ChoiceKey key;
    std::string candidate; ///< a strategy, or "native"
    double seconds = 0;    ///< of a call
    bool operator==(const LearnedChoice&) const = default;
};

/// All that was learned on one machine, by one MPI, with one layout of ranks.
struct LearnedSetup {
    Fingerprint machine; ///< without processors of a socket, GPUs and date
    std::vector<LearnedChoice> choices;
    bool operator==(const LearnedSetup&) const = default;
};

/// What one run finds. Where several communicators differ, the calls on them are not alike, and
/// none of their choices is kept.
class MeasuredChoices {
  public:
    /// `source` tells the communicators apart: a later choice of the same one replaces its first.
    void add(const void* source, const LearnedChoice& choice);
    std::vector<LearnedChoice> choices() const;

  private:
    struct Measured {
        const void* source;
        LearnedChoice choice;
        bool is_ambiguous;
    };
    std::map<ChoiceKey, Measured> measured_;
};

/// The setups of a file with learned choices. Throws TableError, "ORIGIN: KEY: what is wrong, what
/// was expected".
std::vector<LearnedSetup> parse_learned(std::string_view text, const std::string& origin);

/// As JSON text, which parse_learned() takes apart.
std::string to_json_text(const std::vector<LearnedSetup>& setups);

/// Puts the choices into the setup of that machine, where they replace those for the same calls.
void merge(std::vector<LearnedSetup>& setups, const Fingerprint& machine,
           const std::vector<LearnedChoice>& choices);

} // namespace nodeaware::tuning
