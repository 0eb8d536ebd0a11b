#include "tools/nodeaware/commands.hpp"
#include "tools/simulate/options.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

namespace fs = std::filesystem;

constexpr const char* program = "nodeaware_simulator";

/// Beside this command, or in the folder of its own build.
fs::path find_simulator() {
    const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
    const fs::path candidates[] = {own / program, own / ".." / "smpi" / program};
    std::string searched;
    for (const fs::path& file : candidates) {
        if (fs::exists(file)) { return fs::canonical(file); }
        searched += "\n  " + fs::weakly_canonical(file).string();
    }
    throw std::runtime_error(std::string("there is no ") + program + "; looked for:" + searched +
                             "\nIt is built with SimGrid (Debian: libsimgrid-dev): cmake --preset "
                             "smpi; cmake --build --preset smpi");
}

void run(const simulation::Options& options) {
    const std::string file = find_simulator();
    std::vector<std::string> words = simulation::words_of(options);
    words.insert(words.begin(), file);
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) { arguments.push_back(word.data()); }
    arguments.push_back(nullptr);
    execv(file.c_str(), arguments.data());
    throw std::runtime_error(file + ": " + std::strerror(errno));
}

} // namespace

void add_simulate_command(CLI::App& app) {
    CLI::App* const command = app.add_subcommand(
        "simulate", "What an exchange takes on a machine that need not be there, natively and by "
                    "each strategy: the library over SimGrid, in virtual time");
    auto options = std::make_shared<simulation::Options>();
    simulation::add_options(*command, *options);
    command->callback([options] { run(*options); });
}

} // namespace nodeaware::tool
