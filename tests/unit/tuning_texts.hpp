#pragma once

#include "tuning/table_file.hpp"

#include <gtest/gtest.h>

#include <string>

namespace nodeaware::tuning {

/// What a reader of files says of a text; empty: it takes it.
template <class Reader> std::string complaint_of_reader(Reader read) {
    try {
        read();
    } catch (const TableError& error) { return error.what(); }
    return "";
}

/// The same of parse_table().
inline std::string complaint_of(const std::string& text) {
    return complaint_of_reader([&] { parse_table(text, "file.json"); });
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

} // namespace nodeaware::tuning
