// The table, and the JSON file that holds everything.
#pragma once

#include "measurement.hpp"
#include "text_table.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace bench {

class Table : public TextTable<CaseResult> {
  public:
    // The widths of the first columns must fit what is to come.
    Table(const std::vector<std::string>& labels, const std::vector<std::string>& operations,
          bool shared_clock);
};

// The one line of a run with --calls.
void print_calls(const CaseResult& result, int calls);

// To stderr, the first wrong byte of each form that has one.
void print_wrong_data(const CaseResult& result);

nlohmann::ordered_json to_json(const CaseResult& result);

} // namespace bench
