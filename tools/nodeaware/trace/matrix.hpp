#pragma once

#include "tools/nodeaware/trace/reader.hpp"

#include <iosfwd>

namespace nodeaware::tool {

enum class MatrixOf { bytes, messages };
enum class Between { ranks, nodes };

/// Writes what was sent, in the whole of the trace, as a coordinate matrix in the format of
/// MatrixMarket: rows send and columns receive. Empty messages, and those to ranks from outside of
/// the job, are not counted.
void write_matrix(std::ostream& out, const Trace& trace, MatrixOf of, Between between);

} // namespace nodeaware::tool
