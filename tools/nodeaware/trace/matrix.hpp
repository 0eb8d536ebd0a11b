#pragma once

#include "tools/nodeaware/trace/reader.hpp"

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <vector>

namespace nodeaware::tool {

enum class MatrixOf { bytes, messages };
enum class Between { ranks, nodes };

/// What was sent in the whole of the trace: rows send, and have values by who receives. Empty
/// messages, and those to ranks from outside of the job, are not counted.
using SentRows = std::vector<std::map<size_t, uint64_t>>;
SentRows sent_rows(const Trace& trace, MatrixOf of, Between between);

/// Writes this as a coordinate matrix in the format of MatrixMarket.
void write_matrix(std::ostream& out, const Trace& trace, MatrixOf of, Between between);

} // namespace nodeaware::tool
