#include "tools/nodeaware/documentation.hpp"

namespace nodeaware::tool {

namespace {

/// Text for a cell of a table.
std::string cell(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '|') { result += '\\'; }
        result += c;
    }
    return result;
}

std::string code(std::string_view text) {
    return text.empty() ? std::string("none") : "`" + std::string(text) + "`";
}

std::string table_row(std::initializer_list<std::string> cells) {
    std::string line = "|";
    for (const std::string& text : cells) { line += " " + text + " |"; }
    return line + "\n";
}

/// "# " in front of lines of at most 80 characters.
std::string commented(std::string_view text) {
    constexpr size_t width = 78;
    std::string result;
    while (!text.empty()) {
        size_t end = text.size();
        if (end > width) {
            end = text.rfind(' ', width);
            if (end == std::string_view::npos) { end = text.find(' ', width); }
        }
        result += "# " + std::string(text.substr(0, end)) + "\n";
        text.remove_prefix(end >= text.size() ? text.size() : end + 1);
    }
    return result;
}

constexpr const char* head_of_configuration =
    "# Settings of libnodeaware; name this file in NODEAWARE_CONFIG. The environment wins over "
    "it.\n";

/// An option of a file: what it means, and its line.
std::string configuration_entry(const OptionRow& row, std::string_view value, bool is_set) {
    return "\n" + commented(row.doc) + commented("Values: " + std::string(row.values)) +
           (is_set ? "" : "# ") + std::string(row.name) + " = " + std::string(value) + "\n";
}

} // namespace

std::vector<DescribedStrategy> described_strategies() {
    std::vector<DescribedStrategy> list = {{"auto",
                                            "what the model of the machine says is cheapest, "
                                            "corrected by measured times of the others, "
                                            "native included"},
                                           {"native", "the application's own MPI call"}};
    for (const Strategy& strategy : strategies()) { list.push_back({strategy.name, strategy.doc}); }
    return list;
}

std::string markdown() {
    std::string text =
        table_row({"option", "values", "default", "meaning"}) + "|---|---|---|---|\n";
    for (const OptionRow& row : option_table()) {
        text += table_row({code("NODEAWARE_" + std::string(row.name)), cell(row.values),
                           code(row.default_value), cell(row.doc)});
    }
    text += "\n" + table_row({"strategy", "how messages travel"}) + "|---|---|\n";
    for (const DescribedStrategy& strategy : described_strategies()) {
        text += table_row({code(strategy.name), cell(strategy.doc)});
    }
    text += "\nOperations:";
    for (const std::string_view operation : operation_names) {
        text += (operation == operation_names.front() ? "\n" : ",\n") + code(operation);
    }
    return text + ".\n";
}

std::string configuration_file(const ReadOptions& read) {
    std::string text = head_of_configuration;
    for (size_t i = 0; i < option_table().size(); ++i) {
        const OptionRow& row = option_table()[i];
        const Setting& setting = read.settings[i];
        if (row.name == "CONFIG") { continue; } // a file does not name itself
        // An option without a value is not set; what follows a # in a line is not read.
        const bool is_written =
            !setting.value.empty() && setting.value.find('#') == std::string::npos;
        text += configuration_entry(row, setting.value, is_written);
    }
    return text;
}

std::string example_configuration() {
    std::string text = head_of_configuration;
    for (const OptionRow& row : option_table()) {
        if (row.name != "CONFIG") { text += configuration_entry(row, row.default_value, false); }
    }
    return text;
}

} // namespace nodeaware::tool
