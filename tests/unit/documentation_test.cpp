#include "tools/nodeaware/documentation.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

std::string text_of_file(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

} // namespace

TEST(Documentation, OneDocumentHasTheTables) {
    const std::string document = text_of_file(NODEAWARE_OPTIONS_DOCUMENT);
    const std::string begin_mark = "<!-- nodeaware info --markdown -->\n";
    const std::string end_mark = "<!-- end of nodeaware info --markdown -->";
    const size_t begin = document.find(begin_mark);
    const size_t end = document.find(end_mark);
    ASSERT_NE(begin, std::string::npos);
    ASSERT_NE(end, std::string::npos);
    EXPECT_EQ(document.substr(begin + begin_mark.size(), end - begin - begin_mark.size()),
              "\n" + markdown() + "\n")
        << "put the output of `nodeaware info --markdown` between the two comments in "
           "runtime/OPTIONS.md";
}

TEST(Documentation, TheConfigurationFileSaysWhatTheEnvironmentSays) {
    const ReadOptions read =
        read_options({"NODEAWARE_STRATEGY=alltoallv:split,alltoall:native", "NODEAWARE_PPN=3,1",
                      "NODEAWARE_ARENA=2M", "NODEAWARE_TRACE=/tmp/with#sign"});
    const std::string text = configuration_file(read);
    const std::string path = testing::TempDir() + "nodeaware-config-" + std::to_string(getpid());
    std::ofstream(path) << text;
    const ReadOptions again = read_options({"NODEAWARE_CONFIG=" + path});
    std::remove(path.c_str());
    EXPECT_TRUE(again.complaints.empty());
    for (size_t i = 0; i < option_table().size(); ++i) {
        const OptionRow& row = option_table()[i];
        if (row.name == "CONFIG") { continue; }
        EXPECT_NE(text.find(std::string(row.name) + " = "), std::string::npos);
        // A value with a # cannot stand in a file; it is there as a comment.
        EXPECT_EQ(again.settings[i].value, row.name == "TRACE" ? "" : read.settings[i].value);
    }
}

TEST(Documentation, LinesOfTheConfigurationFileAreShort) {
    std::istringstream text(configuration_file(read_options({})));
    for (std::string line; std::getline(text, line);) { EXPECT_LE(line.size(), 100U) << line; }
}

} // namespace nodeaware::tool
