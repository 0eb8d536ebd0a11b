#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

/// The commands of `nodeaware` as CLI11 knows them, for manual pages and completion.
namespace nodeaware::tool {

/// An option of a command, or an argument that stands by itself.
struct DescribedOption {
    std::vector<std::string> flags;  ///< with dashes, short ones first; empty: stands by itself
    std::string argument;            ///< name of what it takes; empty: a flag
    std::vector<std::string> values; ///< all of the single words that it takes; empty: any text
    std::string expected;            ///< in words, what it takes; empty: nothing to be said
    std::string default_value;       ///< empty: none
    std::string doc;
    std::vector<std::string> needs;    ///< options without which it cannot be
    std::vector<std::string> excludes; ///< options with which it cannot be
};

struct DescribedCommand {
    std::string name;
    std::string doc;
    std::vector<DescribedOption> options;
    bool takes_command_line = false; ///< after "--"
};

/// `app` itself first, then those of its subcommands that `--help` shows.
std::vector<DescribedCommand> described_commands(const CLI::App& app);

} // namespace nodeaware::tool
