#include "report.hpp"

#include "json_file.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace bench {
namespace {

std::string min_median_max(const Summary& s) {
    return number(s.min, 0) + "/" + number(s.median, 0) + "/" + number(s.max, 0);
}

const std::string absent = "-"; // of a form that --only left out

std::string form_times(const CaseResult& result, const Form& form) {
    const FormResult* found = result.find(form);
    return found == nullptr ? absent : spread(found->medians, 1);
}

std::string mpi_time(const CaseResult& result, double FormResult::*time) {
    const FormResult* found = result.find(mpi_form);
    return found == nullptr ? absent : number(found->*time, 1);
}

std::string late_starts(const CaseResult& result) {
    std::int64_t late = 0;
    for (const FormResult& form : result.forms) late += form.late;
    return std::to_string(late);
}

int longest(const std::vector<std::string>& texts) {
    std::size_t length = 0;
    for (const std::string& text : texts) length = std::max(length, text.size());
    return static_cast<int>(length);
}

std::vector<Table::Column> columns(const std::vector<std::string>& labels,
                                   const std::vector<std::string>& operations, bool shared_clock) {
    std::vector<Table::Column> all{
        {"pattern", -longest(labels), [](const CaseResult& r) { return r.label; }},
        {"operation", -longest(operations), [](const CaseResult& r) { return r.operation; }},
        {"ranks", 5, [](const CaseResult& r) { return std::to_string(r.ranks); }},
        {"messages/rank", 13, [](const CaseResult& r) { return min_median_max(r.messages); }},
        {"bytes/rank", 20, [](const CaseResult& r) { return min_median_max(r.bytes); }},
        {"native us", 27, [](const CaseResult& r) { return form_times(r, native_form); }},
        {"mpi us", 27, [](const CaseResult& r) { return form_times(r, mpi_form); }},
        {"create us", 9, [](const CaseResult& r) { return mpi_time(r, &FormResult::create); }},
        {"first us", 9, [](const CaseResult& r) { return mpi_time(r, &FormResult::first); }},
        {"native:mpi", 18,
         [](const CaseResult& r) { return r.ratios.empty() ? absent : spread(r.ratio, 2); }},
        {"errors", 6, [](const CaseResult& r) { return std::to_string(r.wrong_bytes()); }},
    };
    if (shared_clock) all.push_back({"late", 5, late_starts});
    return all;
}

} // namespace

Table::Table(const std::vector<std::string>& labels, const std::vector<std::string>& operations,
             bool shared_clock)
    : TextTable(columns(labels, operations, shared_clock)) {}

void print_calls(const CaseResult& result, int calls) {
    std::printf("calls %d form %s pattern %s operation %s ranks %d errors %" PRId64 "\n", calls,
                result.forms[0].form.c_str(), result.label.c_str(), result.operation.c_str(),
                result.ranks, result.wrong_bytes());
    std::fflush(stdout);
}

void print_wrong_data(const CaseResult& result) {
    for (const FormResult& form : result.forms) {
        const WrongData& wrong = form.wrong;
        if (wrong.bytes == 0) continue;
        std::string place = "byte " + std::to_string(wrong.byte);
        if (wrong.source == no_source) {
            place += " of the receive buffer, outside every message";
        } else {
            place += " of the message from rank " + std::to_string(wrong.source);
        }
        std::fprintf(stderr,
                     "%s %s, form %s: wrong bytes: %" PRId64 ", the first on rank %d, %s: "
                     "expected 0x%02x, found 0x%02x (call %" PRId64 ")\n",
                     result.spec.c_str(), result.operation.c_str(), form.form.c_str(), wrong.bytes,
                     wrong.rank, place.c_str(), static_cast<unsigned>(wrong.expected),
                     static_cast<unsigned>(wrong.found), wrong.call);
    }
}

namespace {

nlohmann::ordered_json to_json(const FormResult& form) {
    nlohmann::ordered_json json{{"form", form.form},
                                {"create_us", form.create},
                                {"first_us", form.first},
                                {"us", to_json(form.medians)},
                                {"repeats_us", nlohmann::ordered_json::array()},
                                {"late", form.late},
                                {"wrong_bytes", form.wrong.bytes}};
    for (const Summary& repeat : form.repeats) json["repeats_us"].push_back(to_json(repeat));
    if (form.wrong.bytes > 0) {
        json["first_wrong"] = {{"call", form.wrong.call},         {"rank", form.wrong.rank},
                               {"source", form.wrong.source},     {"byte", form.wrong.byte},
                               {"expected", form.wrong.expected}, {"found", form.wrong.found}};
    }
    return json;
}

} // namespace

nlohmann::ordered_json to_json(const CaseResult& result) {
    nlohmann::ordered_json json{{"pattern", result.spec},
                                {"operation", result.operation},
                                {"ranks", result.ranks},
                                {"messages_per_rank", to_json(result.messages)},
                                {"bytes_per_rank", to_json(result.bytes)},
                                {"forms", nlohmann::ordered_json::array()}};
    for (const FormResult& form : result.forms) json["forms"].push_back(to_json(form));
    if (!result.ratios.empty())
        json["ratio"] = {{"summary", to_json(result.ratio)}, {"repeats", result.ratios}};
    json["wrong_bytes"] = result.wrong_bytes();
    return json;
}

} // namespace bench
