// Reader of MatrixMarket coordinate files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct Matrix {
    struct Entry {
        std::int64_t row;
        std::int64_t column;
        double value; // the real part; 1 where the file has none
    };
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    bool has_values = false;
    std::vector<Entry> entries; // from zero; the mirrored half of symmetric files included
};

// Throws InputError, which names file and line, if the file is not what it should be.
Matrix read_matrix_market(const std::string& path);

} // namespace bench
