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
    std::string text = "# Settings of libnodeaware; name this file in NODEAWARE_CONFIG. The "
                       "environment wins over it.\n";
    for (size_t i = 0; i < option_table().size(); ++i) {
        const OptionRow& row = option_table()[i];
        const Setting& setting = read.settings[i];
        if (row.name == "CONFIG") { continue; } // a file does not name itself
        text += "\n" + commented(row.doc) + commented("Values: " + std::string(row.values));
        // An option without a value is not set; what follows a # in a line is not read.
        const bool is_written =
            !setting.value.empty() && setting.value.find('#') == std::string::npos;
        text += (is_written ? "" : "# ") + std::string(row.name) + " = " + setting.value + "\n";
    }
    return text;
}

} // namespace nodeaware::tool
