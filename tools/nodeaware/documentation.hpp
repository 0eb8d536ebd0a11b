#pragma once

#include "runtime/job/options.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Texts made of the tables of options, strategies and operations, so that nothing needs to be
/// written twice.
namespace nodeaware::tool {

/// What an operation can be set to.
struct DescribedStrategy {
    std::string_view name;
    std::string_view doc;
};

/// `auto` and `native` first, then the list of strategies.
std::vector<DescribedStrategy> described_strategies();

/// The tables in Markdown, as runtime/OPTIONS.md has them.
std::string markdown();

/// A commented file for NODEAWARE_CONFIG with every option at the value it has in `read`.
std::string configuration_file(const ReadOptions& read);

/// The same, with every option at its default and commented out.
std::string example_configuration();

} // namespace nodeaware::tool
