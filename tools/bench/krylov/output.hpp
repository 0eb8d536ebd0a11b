// What is printed of kernels, and written as JSON.
#pragma once

#include "kernels.hpp"
#include "tools/bench/text_table.hpp"

#include <nlohmann/json.hpp>

namespace bench::krylov {

TextTable<Result> result_table();

nlohmann::ordered_json to_json(const Result& result);

} // namespace bench::krylov
