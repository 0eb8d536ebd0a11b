// The table, and the JSON file that holds everything.
#pragma once

#include "measurement.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace bench {

class Table {
  public:
    // The widths of the first columns must fit what is to come.
    Table(const std::vector<std::string>& labels, const std::vector<std::string>& operations,
          bool shared_clock);
    void print_header() const;
    void print(const CaseResult& result) const;

  private:
    struct Column {
        std::string title;
        int width; // negative: left-aligned
        std::string (*cell)(const CaseResult& result);
    };
    std::vector<Column> columns_;
};

// The one line of a run with --calls.
void print_calls(const CaseResult& result, int calls);

// To stderr, the first wrong byte of each form that has one.
void print_wrong_data(const CaseResult& result);

nlohmann::ordered_json to_json(const CaseResult& result);

} // namespace bench
