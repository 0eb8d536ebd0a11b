#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/numbers.hpp"
#include "tools/nodeaware/trace/matrix.hpp"
#include "tools/nodeaware/trace/printing.hpp"
#include "tools/nodeaware/trace/timeline.hpp"
#include "tuning/text_file.hpp"

#include <memory>
#include <ostream>

namespace nodeaware::tool {

namespace {

struct ExportArguments {
    std::string folder;
    std::string timeline; ///< a file to write; empty: none
    std::string matrix;   ///< likewise
    MatrixOf of = MatrixOf::bytes;
    Between between = Between::ranks;
};

void run(const ExportArguments& arguments) {
    if (arguments.timeline.empty() && arguments.matrix.empty()) {
        throw CLI::RequiredError("--timeline or --matrix");
    }
    const bool has_timeline = !arguments.timeline.empty();
    const Trace trace =
        read_trace(arguments.folder, has_timeline ? Timeline::read : Timeline::skip);
    complain(trace);
    if (trace.ranks.empty()) { throw TraceError(arguments.folder + ": no rank can be read"); }
    if (has_timeline) {
        tuning::write_file(arguments.timeline,
                           [&](std::ostream& out) { write_timeline(out, trace); });
    }
    if (!arguments.matrix.empty()) {
        tuning::write_file(arguments.matrix, [&](std::ostream& out) {
            write_matrix(out, trace, arguments.of, arguments.between);
        });
    }
    if (!trace.complaints.empty()) { throw CLI::RuntimeError(1); }
}

} // namespace

void add_export_command(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "export", "Write what a trace (NODEAWARE_TRACE) holds as files for other programs");
    auto arguments = std::make_shared<ExportArguments>();
    command->add_option("folder", arguments->folder, "The folder of the trace")->required();
    command->add_option("--timeline", arguments->timeline,
                        "Write the calls of each rank to this file, in Chrome's trace format, "
                        "which Perfetto (ui.perfetto.dev) shows");
    command->add_option("--matrix", arguments->matrix,
                        "Write who has sent how much to whom to this file, a MatrixMarket matrix");
    add_choice<MatrixOf>(*command, "--matrix-of", arguments->of, "bytes (default) or messages",
                         {{"bytes", MatrixOf::bytes}, {"messages", MatrixOf::messages}})
        ->option_text("QUANTITY");
    add_choice<Between>(*command, "--between", arguments->between,
                        "ranks (default) or nodes, of the matrix",
                        {{"ranks", Between::ranks}, {"nodes", Between::nodes}})
        ->option_text("ENDS");
    command->callback([arguments] { run(*arguments); });
}

} // namespace nodeaware::tool
