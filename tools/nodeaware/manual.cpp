#include "tools/nodeaware/manual.hpp"

#include "tools/nodeaware/documentation.hpp"
#include "tools/nodeaware/manual_library.hpp"
#include "tools/nodeaware/roff.hpp"

namespace nodeaware::tool {

namespace {

std::string sentence(std::string text) {
    if (!text.empty() && text.back() != '.') { text += '.'; }
    return text;
}

/// "`--sizes` TEXT", "`-h`, `--help`", "folder".
std::string head_of(const DescribedOption& option) {
    std::string head;
    for (const std::string& flag : option.flags) {
        head += (head.empty() ? "`" : ", `") + flag + "`";
    }
    if (!option.argument.empty()) { head += (head.empty() ? "" : " ") + option.argument; }
    return head;
}

std::string listed(const std::string& before, const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) { text += (text.empty() ? " `" : ", `") + name + "`"; }
    return text.empty() ? text : " " + before + text + ".";
}

void add_options(Roff& page, const DescribedCommand& command) {
    for (const DescribedOption& option : command.options) {
        page.item(head_of(option), sentence(option.doc));
        std::string more;
        if (!option.expected.empty()) { more += " Values: " + sentence(option.expected); }
        if (!option.default_value.empty()) { more += " Default: `" + option.default_value + "`."; }
        more += listed("Needs", option.needs) + listed("Not with", option.excludes);
        if (!more.empty()) { page.more(more.substr(1)); }
    }
}

void add_synopsis(Roff& page, const std::vector<DescribedCommand>& commands) {
    page.section("SYNOPSIS");
    std::string lines;
    for (size_t i = 1; i < commands.size(); ++i) {
        lines += "nodeaware " + commands[i].name + " [OPTIONS]";
        for (const DescribedOption& option : commands[i].options) {
            if (option.flags.empty()) { lines += " " + option.argument; }
        }
        lines += commands[i].takes_command_line ? " -- COMMAND...\n" : "\n";
    }
    page.example(lines);
}

void add_ends_of_command(Roff& page) {
    page.section("EXIT STATUS");
    page.item("0", "All went well.");
    page.item("1",
              "`analyze`, `export`, `replay`: part of a trace could not be read, or replayed "
              "data were wrong; what is printed says so. `doctor`: something is wrong with the "
              "job. `simulate`: a job has failed, or its data were wrong.");
    page.item("2", "An error, said on stderr.");
    page.item("100 and above", "The command line is wrong; stderr says what was expected.");
    page.paragraph("`run` has the exit status of the command that it runs, if it can run it.");
    page.section("ENVIRONMENT");
    page.paragraph("`NODEAWARE_*`: settings of the library, see libnodeaware(7). `nodeaware run` "
                   "hands them on to all nodes.");
    page.section("FILES");
    page.item("`~/.config/nodeaware/model-openmpi.json`, `~/.config/nodeaware/model-mpich.json`",
              "The model tables, one for each MPI, that `nodeaware calibrate` writes, and that the "
              "library and the "
              "commands read by default.");
    page.section("EXAMPLES");
    page.example("nodeaware run -- mpirun -n 256 ./app input\n"
                 "nodeaware run --strategy split --report 1 -- srun -n 256 ./app\n"
                 "nodeaware doctor -- srun -N 2 -n 256 ./app\n"
                 "nodeaware run --profile trace -- mpirun -n 256 ./app\n"
                 "nodeaware analyze trace --html page.html\n"
                 "mpirun -n 64 nodeaware calibrate");
    page.section("SEE ALSO");
    page.paragraph("libnodeaware(7), mpirun(1)");
}

void add_how_to_preload(Roff& page) {
    page.section("SYNOPSIS");
    page.example("nodeaware run -- mpirun -n 256 ./app\n"
                 "mpirun -n 256 env LD_PRELOAD=/PREFIX/lib/libnodeaware.so ./app");
    page.section("DESCRIPTION");
    page.paragraph("The library makes an unmodified MPI application exchange its irregular "
                   "messages in a node-aware way: the ranks of a node put their messages together "
                   "in shared memory, a few larger messages travel between the nodes, and the "
                   "ranks of the other node pick out what is theirs. The application gets, byte "
                   "for byte, what it would get without.");
    page.paragraph("It has to be preloaded on all ranks of a job: where one has none, the job may "
                   "hang. `nodeaware run` does so with every launcher; where a job hangs or the "
                   "library seems to do nothing, `nodeaware doctor -- mpirun -n 256 ./app` says "
                   "why. By hand:");
    page.item("Open MPI", "`mpirun -x LD_PRELOAD=LIBRARY -x NODEAWARE_REPORT=1 -n 256 ./app`");
    page.item("MPICH, Intel MPI",
              "`mpirun -genv LD_PRELOAD LIBRARY -genv NODEAWARE_REPORT 1 -n 256 ./app`");
    page.item("Slurm", "`srun --export=ALL,LD_PRELOAD=LIBRARY,NODEAWARE_REPORT=1 -n 256 ./app`");
    page.item("any", "`mpirun -n 256 env LD_PRELOAD=LIBRARY NODEAWARE_REPORT=1 ./app`");
    page.paragraph("Where a file names the programs, `nodeaware run` preloads into those of `srun "
                   "--multi-prog` and of MPICH's `mpiexec -configfile` by the environment; in that "
                   "of Open MPI's `mpirun --app`, `/usr/bin/env LD_PRELOAD=LIBRARY` has to stand "
                   "in front of each.");
    page.paragraph("Programs that do not use MPI are not changed by it.");
}

void add_options_of_library(Roff& page) {
    page.section("OPTIONS");
    page.paragraph("They are set in the environment, and count on rank 0, which tells the others; "
                   "or, without `NODEAWARE_`, in the file that `NODEAWARE_CONFIG` names: lines "
                   "`OPTION = VALUE`, where # begins a comment. The environment wins.");
    for (const OptionRow& row : option_table()) {
        page.item("`NODEAWARE_" + std::string(row.name) + "`", row.doc);
        std::string values = "Values: " + sentence(std::string(row.values));
        if (!row.default_value.empty()) {
            values += " Default: `" + std::string(row.default_value) + "`.";
        }
        page.more(values);
    }
    page.section("STRATEGIES");
    for (const DescribedStrategy& strategy : described_strategies()) {
        page.item("`" + std::string(strategy.name) + "`", sentence(std::string(strategy.doc)));
    }
    page.section("OPERATIONS");
    std::string names;
    for (const std::string_view name : operation_names) {
        names += (names.empty() ? "`" : ", `") + std::string(name) + "`";
    }
    page.paragraph(names + "; `nonblocking` means those that begin with i. For `dist_graph_create` "
                           "any strategy but `auto` and `native` means a sparse exchange, always.");
}

void add_ends_of_library(Roff& page) {
    page.section("EXIT STATUS");
    page.paragraph("That of the application. With `NODEAWARE_STRICT=1` a wrong setting ends the "
                   "job at MPI_Init, by MPI_Abort.");
    page.section("FILES");
    page.item("`/PREFIX/lib/libnodeaware.so`", "The library to be preloaded, for every MPI.");
    page.item("`/PREFIX/lib/libnodeaware-openmpi.so`, `/PREFIX/lib/libnodeaware-mpich.so`, "
              "`/PREFIX/lib/libnodeaware-abi.so`",
              "What knows an MPI, the last one MPI's standard binary interface (`libmpi_abi.so`): "
              "it lies beside the library, which loads it at MPI_Init.");
    page.item("`/PREFIX/etc/nodeaware.conf`",
              "An example for `NODEAWARE_CONFIG`, which the modulefile sets; in packages "
              "`/etc/nodeaware.conf`.");
    page.item(
        "`~/.config/nodeaware/model-openmpi.json`, `~/.config/nodeaware/model-mpich.json`",
        "What messages cost on this machine, by `nodeaware calibrate`; an administrator's are "
        "in `/PREFIX/etc/nodeaware`, under the same names.");
    page.item("`/PREFIX/share/doc/nodeaware`",
              "What becomes of calls, every limit, what the report says, and the formats of "
              "files.");
    page.section("SEE ALSO");
    page.paragraph("nodeaware(1), ld.so(8), mpirun(1)");
}

} // namespace

std::string command_manual(const std::vector<DescribedCommand>& commands) {
    Roff page("nodeaware", 1);
    page.section("NAME");
    page.line_of_name("nodeaware", commands.front().doc);
    add_synopsis(page, commands);
    page.section("DESCRIPTION");
    page.paragraph("Runs MPI applications with libnodeaware, says whether it helps them and why, "
                   "and measures the machine for its model.");
    add_options(page, commands.front());
    page.section("COMMANDS");
    for (size_t i = 1; i < commands.size(); ++i) {
        page.subsection("nodeaware " + commands[i].name);
        page.paragraph(sentence(commands[i].doc));
        add_options(page, commands[i]);
    }
    add_ends_of_command(page);
    return page.text();
}

std::string library_manual() {
    Roff page("libnodeaware", 7);
    page.section("NAME");
    page.line_of_name("libnodeaware", "node-aware communication for unmodified MPI applications");
    add_how_to_preload(page);
    add_use_elsewhere(page);
    add_options_of_library(page);
    add_versions(page);
    add_ends_of_library(page);
    return page.text();
}

} // namespace nodeaware::tool
