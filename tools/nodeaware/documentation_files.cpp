#include "tools/nodeaware/command_tree.hpp"
#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/completion.hpp"
#include "tools/nodeaware/documentation.hpp"
#include "tools/nodeaware/manual.hpp"
#include "tuning/text_file.hpp"

#include <memory>

namespace nodeaware::tool {

namespace {

void write_documentation(const CLI::App& app, const std::string& folder) {
    const std::vector<DescribedCommand> commands = described_commands(app);
    tuning::write_text_file(folder + "/nodeaware.1", command_manual(commands));
    tuning::write_text_file(folder + "/libnodeaware.7", library_manual());
    tuning::write_text_file(folder + "/nodeaware.bash", bash_completion(commands));
    tuning::write_text_file(folder + "/_nodeaware", zsh_completion(commands));
    tuning::write_text_file(folder + "/nodeaware.conf", example_configuration());
}

} // namespace

void add_documentation_command(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "documentation", "Write manual pages, completions and an example configuration");
    command->group(""); // for the build, not for users
    auto folder = std::make_shared<std::string>();
    command->add_option("folder", *folder, "Where to")->required()->check(CLI::ExistingDirectory);
    command->callback([&app, folder] { write_documentation(app, *folder); });
}

} // namespace nodeaware::tool
