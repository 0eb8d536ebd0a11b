// The kinds of patterns, one function each: numbers of the specification -> messages.
#pragma once

#include "matrix_market.hpp"
#include "pattern.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct PatternKind {
    const char* name;
    const char* arguments; // for help and error texts
    const char* meaning;
    std::size_t min_numbers;
    std::size_t max_numbers;
    std::vector<Message> (*make)(const std::vector<std::int64_t>& numbers, int ranks,
                                 const PatternOptions& options);
};

const std::vector<PatternKind>& pattern_kinds(); // all but spmv, which takes a file

// Sparse matrix times vector, rows and vector entries in contiguous parts.
std::vector<Message> spmv_messages(const Matrix& matrix, int ranks);

} // namespace bench
