#include "tools/nodeaware/command_tree.hpp"

#include "runtime/job/options.hpp"

#include <algorithm>
#include <cctype>
#include <set>

namespace nodeaware::tool {

namespace {

std::vector<std::string> split(std::string_view text, std::string_view separator) {
    std::vector<std::string> parts;
    while (true) {
        const size_t end = text.find(separator);
        parts.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) { return parts; }
        text.remove_prefix(end + separator.size());
    }
}

/// The setting of the library that an option of `run` stands for; null: none.
const OptionRow* row_of(const CLI::Option& option) {
    if (option.get_lnames().empty()) { return nullptr; }
    std::string name = option.get_lnames().front();
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
        return c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    });
    for (const OptionRow& row : option_table()) {
        if (row.name == name && row.values == option.get_type_name()) { return &row; }
    }
    return nullptr;
}

/// Those words of "auto, or seconds" that the option takes as they are.
std::vector<std::string> words_of(const OptionRow& row) {
    std::vector<std::string> words;
    for (const std::string& word : split(row.values.substr(0, row.values.find(';')), ", ")) {
        Options scratch;
        try {
            if (word.find(' ') != std::string::npos) { continue; }
            row.set(scratch, word);
        } catch (const BadValue&) { continue; }
        words.push_back(word);
    }
    return words;
}

/// Of the sets in descriptions of CLI11: {copies,alltoallv}, {bytes->0,messages->1}.
std::vector<std::string> members_of(std::string_view type) {
    const size_t begin = type.find('{');
    if (begin == std::string_view::npos) { return {}; }
    type.remove_prefix(begin + 1);
    std::vector<std::string> words = split(type.substr(0, type.find('}')), ",");
    for (std::string& word : words) { word = word.substr(0, word.find("->")); }
    return words;
}

/// What a value has to be, from "INT:INT in [1 - 100000]".
void describe_values(const CLI::Option& option, DescribedOption& described) {
    const std::string type = option.get_type_name();
    if (const OptionRow* row = row_of(option)) {
        described.argument = "VALUE";
        described.values = words_of(*row);
        described.expected = row->values;
        described.default_value = row->default_value;
        return;
    }
    const size_t colon = type.find(':');
    const std::string kind = type.substr(0, colon);
    described.values = members_of(type);
    if (kind.find(' ') != std::string::npos) { // in words, as of --profile
        described.argument = "VALUE";
        described.expected = type;
    } else {
        described.argument = described.values.empty() ? kind : "VALUE";
    }
    for (const std::string& value : described.values) {
        described.expected += (described.expected.empty() ? "" : ", ") + value;
    }
    if (described.values.empty() && colon != std::string::npos) {
        described.expected = type.substr(colon + 1);
        const std::string again = kind + " in ";
        if (described.expected.starts_with(again)) {
            described.expected.erase(0, again.size());
        } else if (described.expected == "POSITIVE") {
            described.expected = "above 0";
        } else if (described.expected == "NONNEGATIVE") {
            described.expected = "0 or above";
        }
    }
    described.default_value = option.get_default_str();
    if (described.default_value == "[]" || described.default_value == "\"\"") {
        described.default_value.clear();
    }
}

std::vector<std::string> names_of(const std::set<CLI::Option*>& options) {
    std::vector<std::string> names;
    names.reserve(options.size());
    for (const CLI::Option* option : options) { names.push_back(option->get_name()); }
    std::sort(names.begin(), names.end()); // the set is in the order of addresses
    return names;
}

DescribedOption describe(const CLI::Option& option) {
    DescribedOption described;
    for (const std::string& name : option.get_snames()) { described.flags.push_back("-" + name); }
    for (const std::string& name : option.get_lnames()) { described.flags.push_back("--" + name); }
    described.doc = option.get_description();
    described.needs = names_of(option.get_needs());
    described.excludes = names_of(option.get_excludes());
    if (option.get_items_expected_max() > 0) { describe_values(option, described); }
    if (option.get_positional()) { described.argument = option.get_name(true); }
    if (!option.get_option_text().empty()) { described.argument = option.get_option_text(); }
    return described;
}

DescribedCommand describe(const CLI::App& command) {
    DescribedCommand described{command.get_name(), command.get_description(), {}, false};
    // CLI11 does not get to see that part, but each such command has an example in its description.
    described.takes_command_line = described.doc.find(" -- ") != std::string::npos;
    for (const CLI::Option* option : command.get_options()) {
        if (!option->get_group().empty()) { described.options.push_back(describe(*option)); }
    }
    return described;
}

} // namespace

std::vector<DescribedCommand> described_commands(const CLI::App& app) {
    std::vector<DescribedCommand> list = {describe(app)};
    const auto is_shown = [](const CLI::App* command) { return !command->get_group().empty(); };
    for (const CLI::App* command : app.get_subcommands(is_shown)) {
        list.push_back(describe(*command));
    }
    return list;
}

} // namespace nodeaware::tool
