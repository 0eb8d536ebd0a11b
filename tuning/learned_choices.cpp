#include "tuning/learned_choices.hpp"

#include "tuning/json_reader.hpp"

#include <algorithm>

namespace nodeaware::tuning {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* format_of_choices = "nodeaware-learned-choices";
constexpr int version_of_choices = 1;

LearnedChoice read_learned_choice(JsonReader& reader) {
    LearnedChoice choice;
    choice.key = {reader.text("operation"), reader.integer("ranks"), reader.integer("nodes"),
                  reader.integer("ranks_per_node"), reader.integer("size_class")};
    choice.candidate = reader.text("strategy");
    choice.seconds = reader.number("seconds");
    reader.expect_no_more();
    return choice;
}

LearnedSetup read_learned_setup(JsonReader& reader) {
    LearnedSetup setup;
    setup.machine.mpi = reader.text("mpi");
    setup.machine.mpi_version = reader.text("mpi_version");
    setup.machine.host_model = reader.text("host_model");
    setup.machine.nodes = reader.integer("nodes");
    setup.machine.processes_per_node = reader.integer("processes_per_node");
    setup.machine.library_version = reader.text("library_version");
    for (JsonReader& choice : reader.objects("choices")) {
        setup.choices.push_back(read_learned_choice(choice));
    }
    reader.expect_no_more();
    return setup;
}

ordered_json to_json(const LearnedChoice& choice) {
    const ChoiceKey& key = choice.key;
    return {{"operation", key.operation},   {"ranks", key.ranks},
            {"nodes", key.nodes},           {"ranks_per_node", key.ranks_per_node},
            {"size_class", key.size_class}, {"strategy", choice.candidate},
            {"seconds", choice.seconds}};
}

} // namespace

void MeasuredChoices::add(const void* source, const LearnedChoice& choice) {
    const auto [found, is_new] = measured_.try_emplace(choice.key, Measured{source, choice, false});
    Measured& known = found->second;
    if (is_new || known.is_ambiguous) { return; }
    if (known.source == source) {
        known.choice = choice;
    } else {
        known.is_ambiguous = known.choice.candidate != choice.candidate;
    }
}

std::vector<LearnedChoice> MeasuredChoices::choices() const {
    std::vector<LearnedChoice> choices;
    for (const auto& [key, measured] : measured_) {
        if (!measured.is_ambiguous) { choices.push_back(measured.choice); }
    }
    return choices;
}

std::vector<LearnedSetup> parse_learned(std::string_view text, const std::string& origin) {
    json parsed;
    try {
        parsed = json::parse(text);
    } catch (const json::parse_error& error) {
        throw TableError(origin + ": is no JSON: " + error.what());
    }
    JsonReader reader(parsed, origin, "");
    if (reader.text("format") != format_of_choices) {
        reader.complain("format", std::string("must be ") + format_of_choices);
    }
    if (const int version = reader.integer("version"); version != version_of_choices) {
        reader.complain("version", "is " + std::to_string(version) + ", must be " +
                                       std::to_string(version_of_choices));
    }
    std::vector<LearnedSetup> setups;
    for (JsonReader& setup : reader.objects("setups")) {
        setups.push_back(read_learned_setup(setup));
    }
    reader.expect_no_more();
    return setups;
}

std::string to_json_text(const std::vector<LearnedSetup>& setups) {
    ordered_json all = {{"format", format_of_choices},
                        {"version", version_of_choices},
                        {"setups", ordered_json::array()}};
    for (const LearnedSetup& setup : setups) {
        const Fingerprint& machine = setup.machine;
        ordered_json one = {{"mpi", machine.mpi},
                            {"mpi_version", machine.mpi_version},
                            {"host_model", machine.host_model},
                            {"nodes", machine.nodes},
                            {"processes_per_node", machine.processes_per_node},
                            {"library_version", machine.library_version},
                            {"choices", ordered_json::array()}};
        for (const LearnedChoice& choice : setup.choices) {
            one["choices"].push_back(to_json(choice));
        }
        all["setups"].push_back(std::move(one));
    }
    return all.dump(2) + "\n";
}

void merge(std::vector<LearnedSetup>& setups, const Fingerprint& machine,
           const std::vector<LearnedChoice>& choices) {
    auto setup = std::find_if(setups.begin(), setups.end(),
                              [&](const LearnedSetup& known) { return known.machine == machine; });
    if (setup == setups.end()) { setup = setups.insert(setups.end(), {machine, {}}); }
    for (const LearnedChoice& choice : choices) {
        const auto known = std::find_if(setup->choices.begin(), setup->choices.end(),
                                        [&](const auto& old) { return old.key == choice.key; });
        if (known == setup->choices.end()) {
            setup->choices.push_back(choice);
        } else {
            *known = choice;
        }
    }
}

} // namespace nodeaware::tuning
