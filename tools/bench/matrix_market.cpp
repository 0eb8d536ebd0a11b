#include "matrix_market.hpp"

#include "program.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace bench {
namespace {

class Reader {
  public:
    explicit Reader(const std::string& path) : path_(path), file_(path) {
        if (!file_) throw InputError("cannot open " + path + ": " + std::strerror(errno));
        std::error_code ignored;
        if (std::filesystem::is_directory(path, ignored)) throw InputError(path + ": a folder");
    }

    Matrix read() {
        read_header();
        Matrix matrix;
        matrix.has_values = values_per_entry_ > 0;
        const std::int64_t entries = read_sizes(matrix);
        // A file that promises more than it holds must not reserve the promised memory.
        matrix.entries.reserve(static_cast<std::size_t>(std::min<std::int64_t>(entries, 1 << 20)));
        for (std::int64_t i = 0; i < entries; ++i) read_entry(matrix, i, entries);
        if (next_line()) fail("more entries than the " + std::to_string(entries) + " announced");
        return matrix;
    }

  private:
    [[noreturn]] void fail(const std::string& what) const {
        throw InputError(path_ + ":" + std::to_string(line_number_) + ": " + what);
    }

    // The first line: "%%MatrixMarket matrix coordinate FIELD SYMMETRY", upper or lower case.
    void read_header() {
        ++line_number_;
        if (!std::getline(file_, line_)) fail("the file is empty");
        std::string banner;
        std::string object;
        std::string format;
        std::string field;
        std::string symmetry;
        std::istringstream words(lower_case(line_));
        words >> banner >> object >> format >> field >> symmetry;
        if (banner != "%%matrixmarket") fail("not a MatrixMarket file: no %%MatrixMarket line");
        if (object != "matrix" || format != "coordinate")
            fail("'" + object + " " + format + "' is not supported, only 'matrix coordinate'");
        if (field == "pattern") {
            values_per_entry_ = 0;
        } else if (field == "real" || field == "integer" || field == "double") {
            values_per_entry_ = 1;
        } else if (field == "complex") {
            values_per_entry_ = 2;
        } else {
            fail("unknown field '" + field + "': pattern, real, integer or complex");
        }
        mirrored_ =
            symmetry == "symmetric" || symmetry == "skew-symmetric" || symmetry == "hermitian";
        if (!mirrored_ && symmetry != "general") {
            fail("unknown symmetry '" + symmetry +
                 "': general, symmetric, skew-symmetric or hermitian");
        }
    }

    std::int64_t read_sizes(Matrix& matrix) {
        if (!next_line()) fail("no size line");
        matrix.rows = read_integer("the number of rows");
        matrix.columns = read_integer("the number of columns");
        const std::int64_t entries = read_integer("the number of entries");
        expect_end_of_line();
        if (matrix.rows < 1 || matrix.columns < 1 || entries < 0)
            fail("rows and columns must be at least 1, entries at least 0");
        if (mirrored_ && matrix.rows != matrix.columns) {
            fail("a symmetric matrix must be square, not " + std::to_string(matrix.rows) + " x " +
                 std::to_string(matrix.columns));
        }
        return entries;
    }

    void read_entry(Matrix& matrix, std::int64_t index, std::int64_t entries) {
        if (!next_line()) {
            fail("the file ends after " + std::to_string(index) + " of " + std::to_string(entries) +
                 " entries");
        }
        const std::int64_t row = read_index("row", matrix.rows);
        const std::int64_t column = read_index("column", matrix.columns);
        const double value = values_per_entry_ > 0 ? read_value() : 1;
        if (values_per_entry_ > 1) read_value();
        expect_end_of_line();
        matrix.entries.push_back({row, column, value});
        if (mirrored_ && row != column) matrix.entries.push_back({column, row, value});
    }

    // Goes to the next line that is neither blank nor a comment; false at the end of the file.
    bool next_line() {
        while (std::getline(file_, line_)) {
            ++line_number_;
            position_ = line_.c_str();
            skip_blanks();
            if (*position_ != '\0' && *position_ != '%') return true;
        }
        return false;
    }

    void skip_blanks() {
        while (std::isspace(static_cast<unsigned char>(*position_)) != 0) ++position_;
    }

    std::int64_t read_integer(const std::string& what) {
        skip_blanks();
        std::int64_t value = 0;
        const char* end = line_.c_str() + line_.size();
        const auto [rest, error] = std::from_chars(position_, end, value);
        if (error != std::errc{} ||
            (rest != end && std::isspace(static_cast<unsigned char>(*rest)) == 0))
            fail("expected " + what + " in '" + line_ + "'");
        position_ = rest;
        return value;
    }

    std::int64_t read_index(const char* what, std::int64_t limit) {
        const std::int64_t index = read_integer(std::string("a ") + what + " number");
        if (index < 1 || index > limit) {
            fail(std::string(what) + " " + std::to_string(index) + " is not in 1.." +
                 std::to_string(limit));
        }
        return index - 1;
    }

    double read_value() {
        char* rest = nullptr;
        const double value = std::strtod(position_, &rest);
        if (rest == position_) fail("expected a value in '" + line_ + "'");
        position_ = rest;
        return value;
    }

    void expect_end_of_line() {
        skip_blanks();
        if (*position_ != '\0') fail("unexpected '" + std::string(position_) + "'");
    }

    static std::string lower_case(std::string text) {
        for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        return text;
    }

    std::string path_;
    std::ifstream file_;
    std::string line_;
    const char* position_ = nullptr;
    std::int64_t line_number_ = 0;
    int values_per_entry_ = 0;
    bool mirrored_ = false;
};

} // namespace

Matrix read_matrix_market(const std::string& path) { return Reader(path).read(); }

} // namespace bench
