#include "output.hpp"

#include "tools/bench/json_file.hpp"
#include "tools/bench/value_hash.hpp"

#include <cstdio>

namespace bench::krylov {
namespace {

const std::string none = "-";

std::string residual_text(const Result& result) {
    if (!result.solved) return none;
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.3e", result.solved->residual);
    return buffer;
}

std::string state(const Result& result) {
    if (result.is_wrong) return "WRONG";
    if (result.solved && !result.solved->is_converged) return "not converged";
    return "ok";
}

} // namespace

TextTable<Result> result_table() {
    return TextTable<Result>({
        {"kernel", -10, [](const Result& r) { return r.kernel; }},
        {"us/iteration", 32, [](const Result& r) { return spread(summarize(r.times), 1); }},
        {"iterations", 10, [](const Result& r) { return std::to_string(r.iterations); }},
        {"residual", 10, residual_text},
        {"allreduces", 10, [](const Result& r) { return number(r.allreduces, 2); }},
        {"iallreduces", 11, [](const Result& r) { return number(r.iallreduces, 2); }},
        {"blocking us", 32,
         [](const Result& r) {
             return r.overlap ? spread(summarize(r.overlap->blocking), 1) : none;
         }},
        {"blocking:nonblocking", 20,
         [](const Result& r) {
             return r.overlap ? spread(summarize(r.overlap->ratios), 2) : none;
         }},
        {"messages/rank", 13,
         [](const Result& r) { return r.halo ? std::to_string(r.halo->messages) : none; }},
        {"bytes/rank", 10,
         [](const Result& r) { return r.halo ? std::to_string(r.halo->bytes) : none; }},
        {"result", -13, state},
    });
}

nlohmann::ordered_json to_json(const Result& result) {
    nlohmann::ordered_json json{{"kernel", result.kernel},
                                {"iterations", result.iterations},
                                {"us_per_iteration", bench::to_json(summarize(result.times))},
                                {"repeats_us", result.times},
                                {"allreduces_per_iteration", result.allreduces},
                                {"iallreduces_per_iteration", result.iallreduces}};
    if (result.overlap) {
        const OverlapTimes& overlap = *result.overlap;
        json["allreduce_us"] = overlap.allreduce;
        json["computation_us"] = overlap.computation;
        json["blocking_us"] = bench::to_json(summarize(overlap.blocking));
        json["blocking_repeats_us"] = overlap.blocking;
        json["ratio"] = {{"summary", bench::to_json(summarize(overlap.ratios))},
                         {"repeats", overlap.ratios}};
    }
    if (result.halo) {
        json["messages_per_rank"] = result.halo->messages;
        json["bytes_per_rank"] = result.halo->bytes;
    }
    if (result.solved) {
        json["converged"] = result.solved->is_converged;
        json["relative_residual"] = result.solved->residual;
        json["solution_hash"] = hash_text(result.solved->solution);
    }
    json["wrong"] = result.is_wrong;
    return json;
}

} // namespace bench::krylov
