#include "tools/models/figures.hpp"
#include "tools/models/scenario.hpp"
#include "tools/models/sparse_figure.hpp"
#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/explain.hpp"
#include "tools/nodeaware/model_krylov.hpp"
#include "tools/nodeaware/model_triangular.hpp"
#include "tools/nodeaware/numbers.hpp"
#include "tools/nodeaware/used_table.hpp"
#include "tuning/node_aware_models.hpp"
#include "tuning/table_file.hpp"
#include "tuning/text_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace nodeaware::tool {

namespace {

using nlohmann::ordered_json;
using namespace nodeaware::tuning;

struct ModelArguments {
    std::string table; ///< empty: the one that a job would use
    Table6Input input;
    std::string scenario;
    std::string kernel;
    int figure = 0; ///< 0: the last one of copies and alltoallv; of others curves over nodes
    FigureInput figure_input;
    KrylovArguments krylov;
    SparseInput sparse;
    TriangularArguments triangular;
    std::string sizes = "1:1048576";
    std::string svg;
    bool json = false;
    bool csv = false;
    bool list = false;
    bool show = false;
    bool explain = false;
    ExplainedPattern pattern;
};

ordered_json to_json(const Composition& row) {
    ordered_json json = {{"seconds", nullptr}, {"terms", ordered_json::array()}};
    if (!row.seconds) {
        json["missing"] = row.missing;
        return json;
    }
    json["seconds"] = *row.seconds;
    for (const Term& term : row.terms) {
        ordered_json entry = {{"name", term.name}, {"seconds", term.seconds}};
        if (!term.protocol.empty()) { entry["protocol"] = term.protocol; }
        json["terms"].push_back(std::move(entry));
    }
    if (row.seconds_with_copies) { json["seconds_with_copies"] = *row.seconds_with_copies; }
    return json;
}

ordered_json to_json(const Table6Input& input) {
    return {{"s_proc", input.s_proc},
            {"s_node", input.s_node},
            {"s_node_node", input.s_node_node},
            {"m_proc_node", input.m_proc_node},
            {"m_node_node", input.m_node_node},
            {"m_proc", input.m_proc},
            {"gps", input.gps},
            {"pps", input.pps},
            {"ppn", input.ppn},
            {"ppg", input.ppg}};
}

void print_compositions(const std::vector<Composition>& rows) {
    for (const Composition& row : rows) {
        if (!row.seconds) {
            std::printf("%-24s -  (%s)\n", row.label.data(), row.missing.c_str());
            continue;
        }
        std::printf("%-24s %.4e s =", row.label.data(), *row.seconds);
        const char* before = "";
        for (const Term& term : row.terms) {
            std::printf("%s %s %.4e", before, term.name.c_str(), term.seconds);
            if (!term.protocol.empty()) { std::printf(" (%s)", term.protocol.c_str()); }
            before = " +";
        }
        if (row.seconds_with_copies) {
            std::printf("; with T_copy, which table 6 leaves out here: %.4e",
                        *row.seconds_with_copies);
        }
        std::printf("\n");
    }
}

void show_compositions(const ModelTable& table, const ModelArguments& arguments) {
    const std::vector<Composition> rows = table6(table, arguments.input);
    if (!arguments.json) {
        std::printf("table %s; seconds\n", table.name.c_str());
        print_compositions(rows);
        return;
    }
    ordered_json json = {{"table", table.name},
                         {"units", {{"time", "seconds"}, {"size", "bytes"}}},
                         {"parameters", to_json(arguments.input)}};
    for (const Composition& row : rows) { json[std::string(row.key)] = to_json(row); }
    std::printf("%s\n", json.dump(2).c_str());
}

ordered_json to_json(const Scenario& scenario) {
    return {{"messages", scenario.messages},
            {"nodes", scenario.nodes},
            {"dup", scenario.duplicate_fraction},
            {"gps", scenario.gps},
            {"ppn", scenario.ppn},
            {"ppg", scenario.ppg}};
}

/// `head`: what JSON says of where the curves are from.
void show_curves(const CurveTable& curves, const ordered_json& head,
                 const ModelArguments& arguments) {
    if (!arguments.svg.empty()) { write_text_file(arguments.svg, to_svg(curves)); }
    if (is_standard_output(arguments.svg)) { return; }
    const std::string text = arguments.json  ? to_json_text(head, curves)
                             : arguments.csv ? to_csv(curves)
                                             : to_text(curves);
    std::fputs(text.c_str(), stdout);
}

void show_scenario(const ModelTable& table, const ModelArguments& arguments) {
    const Scenario scenario = parse_scenario(arguments.scenario);
    const auto points = evaluate(table, scenario, parse_sizes(arguments.sizes));
    show_curves(curve_table(table, scenario, points),
                {{"table", table.name}, {"scenario", to_json(scenario)}}, arguments);
}

/// 2 to 5, or 6; 0 where none is chosen of another kernel. Throws std::invalid_argument where the
/// kernel has no such figure.
int figure_of(const std::string& kernel, int chosen) {
    std::string figures;
    if (kernel == sparse_kernel) {
        if (chosen == 0) { return chosen; }
        figures = "none";
    } else if (kernel == triangular_kernel) {
        if (is_triangular_figure(chosen)) { return chosen; }
        figures = "5 or 7";
    } else if (is_krylov_kernel(kernel)) {
        if (is_krylov_figure(chosen, kernel)) { return chosen; }
        figures = krylov_figures_of(kernel);
    } else {
        const bool is_copies = kernel == "copies";
        const int number = chosen == 0 ? (is_copies ? last_figure - 1 : last_figure) : chosen;
        if (is_of_kernel(number, kernel)) { return number; }
        figures = is_copies ? "2 to 5" : "6";
    }
    throw std::invalid_argument("figure " + std::to_string(chosen) + " is not of --kernel " +
                                kernel + ": expected " + figures);
}

void show_figure(const ModelTable& table, const ModelArguments& arguments) {
    const int number = figure_of(arguments.kernel, arguments.figure);
    const std::vector<double> sizes = parse_sizes(arguments.sizes);
    const auto draw = [&] {
        if (arguments.kernel == sparse_kernel) {
            return sparse_curves(table, arguments.sparse, sizes);
        }
        if (arguments.kernel == triangular_kernel) {
            return triangular_curves_of(table, number, arguments.triangular);
        }
        if (!is_krylov_kernel(arguments.kernel)) {
            return figure(table, number, arguments.figure_input, sizes);
        }
        return krylov_curves_of(table, arguments.kernel, number, arguments.krylov, sizes);
    };
    const CurveTable curves = draw();
    ordered_json head = {{"table", table.name}, {"kernel", arguments.kernel}};
    if (number > 0) { head["figure"] = number; }
    head["title"] = curves.title;
    show_curves(curves, head, arguments);
}

ModelTable chosen_table(const ModelArguments& arguments) {
    if (!arguments.table.empty()) { return find_table(arguments.table); }
    const auto [wanted, loaded] = used_table();
    if (!loaded.complaint.empty()) {
        std::fprintf(stderr, "nodeaware: %s\n", loaded.complaint.c_str());
    } else {
        const std::string found =
            wanted.empty() ? loaded.table.name + ", for there is no calibrated one" : wanted;
        std::fprintf(stderr, "nodeaware: model table %s\n", found.c_str());
    }
    return loaded.table;
}

void run(const ModelArguments& arguments, bool has_parameters) {
    if (arguments.list) {
        for (const std::string& name : published_table_names()) {
            std::printf("%-20s %s\n", name.c_str(), find_table(name).description.c_str());
        }
        return;
    }
    const ModelTable table = chosen_table(arguments);
    if (arguments.show) {
        std::fputs(to_json_text(table).c_str(), stdout);
    } else if (arguments.explain) {
        explain(table, arguments.pattern, arguments.json);
    } else if (!arguments.scenario.empty()) {
        show_scenario(table, arguments);
    } else if (!arguments.kernel.empty()) {
        show_figure(table, arguments);
    } else if (has_parameters) {
        show_compositions(table, arguments);
    } else {
        throw CLI::RequiredError(
            "--s-proc, --s-node and --s-node-node, or --scenario, or --kernel, or --explain,");
    }
}

void add_parameters(CLI::App& command, Table6Input& input) {
    const auto add = [&](const char* name, auto& value, const char* text) {
        return command.add_option(name, value, text)->capture_default_str();
    };
    add("--s-proc", input.s_proc, "Most bytes that one process (GPU) sends")
        ->check(non_negative_number());
    add("--s-node", input.s_node, "Most bytes that one node sends")->check(non_negative_number());
    add("--s-node-node", input.s_node_node, "Most bytes between two nodes")
        ->check(non_negative_number());
    add("--m-proc-node", input.m_proc_node,
        "Most nodes that one process sends to (also of --kernel sdde, there by default as many as "
        "it has messages for)")
        ->check(positive_number());
    add("--m-node-node", input.m_node_node, "Most messages between two nodes")
        ->check(positive_number());
    add("--m-proc", input.m_proc,
        "Messages of the busiest process in standard communication (0: as --m-proc-node)")
        ->check(non_negative_number());
    add("--gps", input.gps,
        "GPUs per socket (of --kernel: by default half those of a node that the table names)")
        ->check(positive_number());
    add("--pps", input.pps, "Processes per socket")->check(positive_number());
    add("--ppn", input.ppn,
        "Processes per node (also of --explain, and of --kernel, there by default those that the "
        "table names)")
        ->check(positive_number());
    add("--ppg", input.ppg, "Processes per GPU of Split + DD")->check(positive_number());
}

void add_pattern(CLI::App& command, ModelArguments& arguments) {
    CLI::Option* explain = command.add_flag(
        "--explain", arguments.explain,
        "Candidates of strategy auto for a pattern: what each is thought to take, cheapest first");
    ExplainedPattern& pattern = arguments.pattern;
    command
        .add_option("--nodes", pattern.nodes,
                    "Nodes of the pattern, or of --kernel (there 32 of alltoallv and sdde, else "
                    "1024 by default; of curves over nodes the most)")
        ->capture_default_str()
        ->check(CLI::Range(2, 1 << 20));
    command
        .add_option("--messages", pattern.messages,
                    "Messages of each process to other nodes, dealt out evenly over their "
                    "processes (0: one to each); also of --kernel sdde (0: one to each node)")
        ->capture_default_str()
        ->check(non_negative_number());
    command.add_option("--bytes", pattern.bytes, "Bytes of each message")
        ->capture_default_str()
        ->check(positive_number())
        ->needs(explain);
    command
        .add_option("--memory", pattern.memory,
                    "Where messages begin and end: on hosts, on devices, or on devices that the "
                    "MPI knows")
        ->capture_default_str()
        ->check(CLI::IsMember(
            std::vector<std::string>(std::begin(explained_memories), std::end(explained_memories))))
        ->needs(explain);
}

void add_kernel(CLI::App& command, ModelArguments& arguments) {
    std::vector<std::string> kernels = {"copies", "alltoallv"};
    kernels.insert(kernels.end(), krylov_kernels.begin(), krylov_kernels.end());
    kernels.emplace_back(sparse_kernel);
    kernels.emplace_back(triangular_kernel);
    CLI::Option* kernel =
        command
            .add_option(
                "--kernel", arguments.kernel,
                "Figures of the data movement paper: copies (2 to 5, ways of messages "
                "between GPUs, and how many of them pay for copying to the CPU) or "
                "alltoallv (6). Of the paper on Krylov solvers: allreduce (8, 9, 11), "
                "halo (6, 7, 9, 12) and the solvers cg, sapcg, "
                "nbpcg, pipecg, pipe2cg (10 of cg and pipecg), without --figure over "
                "nodes. sdde: sparse exchanges (nodeaware.h), where nobody knows what it "
                "receives, by each method over sizes of messages, and which auto takes. sptrsv: "
                "triangular solves that are driven by messages, over processes, by each "
                "layout; 5 and 7 of the paper on these")
            ->check(CLI::IsMember(kernels));
    command
        .add_option("--figure", arguments.figure,
                    "Which of them. Data movement: 2 one message, 3 between GPUs, 4 split over "
                    "cores, 5 several messages, 6 collectives (default: 5 of copies, 6 of "
                    "alltoallv). Krylov solvers: 6 postal model, 7 max-rate penalty, 8 hops, 9 "
                    "max-rate, congestion and hops, 10 solvers over nodes, 11 and 12 overlap. "
                    "Triangular solves on GPUs: 5 layouts, 7 computation and "
                    "communication")
        ->check(CLI::Range(first_figure, last_krylov_figure))
        ->needs(kernel);
    command
        .add_option("--dup", arguments.figure_input.duplicate_fraction,
                    "Part of the bytes that several messages carry, copied once (figures 5 and 6)")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 1.0))
        ->needs(kernel);
    add_krylov_options(command, arguments.krylov);
    add_triangular_options(command, arguments.triangular);
}

/// What of the other options --kernel sdde has, too; a number too large for it is refused later.
void take_sparse_options(const CLI::App& command, ModelArguments& arguments) {
    const auto take = [&](const char* name, double value, int& number) {
        if (command.count(name) > 0) { number = static_cast<int>(std::min(value, 1e9)); }
    };
    take("--nodes", arguments.pattern.nodes, arguments.sparse.nodes);
    take("--ppn", arguments.input.ppn, arguments.sparse.processes_per_node);
    take("--m-proc-node", arguments.input.m_proc_node, arguments.sparse.reached_nodes);
    take("--messages", static_cast<double>(arguments.pattern.messages), arguments.sparse.messages);
}

/// Options that both --explain and --kernel have; what is not given is the table's.
void take_shared_options(const CLI::App& command, ModelArguments& arguments) {
    const auto is_given = [&](const char* name) { return command.count(name) > 0; };
    if (is_given("--nodes")) {
        if (!arguments.explain && arguments.kernel.empty()) {
            throw CLI::RequiresError("--nodes", "--explain or --kernel");
        }
        arguments.figure_input.nodes = arguments.pattern.nodes;
        arguments.krylov.input.nodes = arguments.pattern.nodes;
        arguments.triangular.nodes = arguments.pattern.nodes;
    }
    const bool is_sparse = arguments.kernel == sparse_kernel;
    if (is_given("--messages") && !arguments.explain && !is_sparse) {
        throw CLI::RequiresError("--messages", "--explain or --kernel sdde");
    }
    if (is_sparse) { take_sparse_options(command, arguments); }
    arguments.pattern.ppn = static_cast<int>(arguments.input.ppn);
    if (is_given("--ppn")) {
        arguments.figure_input.processes_per_node = arguments.input.ppn;
        arguments.krylov.input.processes_per_node = arguments.input.ppn;
        arguments.triangular.processes_per_node = static_cast<int>(arguments.input.ppn);
    }
    if (is_given("--gps")) { arguments.figure_input.gpus_per_node = 2 * arguments.input.gps; }
    if (!arguments.kernel.empty()) {
        check_kernel_options(command, arguments.kernel, arguments.figure);
        check_triangular_options(command, arguments.kernel, arguments.figure);
    }
}

} // namespace

void add_model_command(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "model", "Predict times of the communication strategies from a model table");
    auto arguments = std::make_shared<ModelArguments>();
    command->add_option("--table", arguments->table,
                        "Published table (see --list) or file (default: the one that jobs use, by "
                        "NODEAWARE_MODEL or nodeaware calibrate)");
    command->add_flag("--list", arguments->list, "List the published tables");
    command->add_flag("--show", arguments->show, "Print the table as a file");
    add_parameters(*command, arguments->input);
    add_pattern(*command, *arguments);
    add_kernel(*command, *arguments);
    command->add_option("--scenario", arguments->scenario,
                        "Curves over message sizes: messages=256,nodes=16,dup=0.25; also gps, ppn, "
                        "ppg, cap");
    command
        ->add_option("--sizes", arguments->sizes, "Message sizes of the curves, FIRST:LAST bytes")
        ->capture_default_str();
    CLI::Option* csv = command->add_flag("--csv", arguments->csv, "Print the curves as CSV");
    command->add_flag("--json", arguments->json, "Print JSON")->excludes(csv);
    command->add_option("--svg", arguments->svg, "Also write the curves as a plot to this file");
    command->callback([arguments, command] {
        take_shared_options(*command, *arguments);
        run(*arguments, command->count("--s-proc") + command->count("--s-node") +
                                command->count("--s-node-node") ==
                            3);
    });
}

} // namespace nodeaware::tool
