// Rows of results, printed as they come.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace bench {

template <class Row> class TextTable {
  public:
    struct Column {
        std::string title;
        int width; // at least that of the title; negative: left-aligned
        std::string (*cell)(const Row& row);
    };

    explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
        for (Column& column : columns_) {
            const auto title = static_cast<int>(column.title.size());
            column.width =
                column.width < 0 ? std::min(column.width, -title) : std::max(column.width, title);
        }
    }

    void print_header() const {
        print_line([](const Column& column) { return column.title; });
    }
    void print(const Row& row) const {
        print_line([&](const Column& column) { return column.cell(row); });
    }

  private:
    template <class Text> void print_line(Text text) const {
        for (const Column& column : columns_)
            std::printf("%*s  ", column.width, text(column).c_str());
        std::printf("\n");
        std::fflush(stdout);
    }

    std::vector<Column> columns_;
};

} // namespace bench
