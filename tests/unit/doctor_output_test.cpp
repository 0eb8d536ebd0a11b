#include "tools/nodeaware/doctor/output.hpp"
#include "tools/nodeaware/doctor/record.hpp"

#include <gtest/gtest.h>

namespace nodeaware::tool::doctor {

namespace {

const std::string mark = "probe:";

/// Different everywhere.
std::string long_text(size_t length) {
    std::string text;
    for (size_t i = 0; text.size() < length; ++i) { text += std::to_string(i) + "\n<&\""; }
    return text.substr(0, length);
}

std::string all_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) { text += line; }
    return text;
}

} // namespace

TEST(DoctorsRecord, IsReassembled) {
    for (const size_t length : {0U, 1U, 199U, 200U, 201U, 5000U}) {
        const auto lines = packed(mark, "12345678901.321", long_text(length));
        for (const std::string& line : lines) { EXPECT_LT(line.size(), 1024U); }
        const Unpacked back = unpacked(mark, "noise\n" + all_of(lines) + "noise");
        EXPECT_EQ(back.texts, std::vector{long_text(length)});
        EXPECT_EQ(back.damaged, 0U);
    }
    EXPECT_TRUE(unpacked(mark, "noise\n").texts.empty());
    EXPECT_EQ(unpacked(mark, "noise\n").damaged, 0U);
}

TEST(DoctorsRecord, BearsTags) {
    const std::string text = long_text(5000);
    const auto lines = packed(mark, "12345678901.321", text);
    std::string tagged;
    std::string xml;
    for (const std::string& line : lines) {
        tagged += "[1,0]<stdout>:" + line;
        xml += "<stdout rank=\"0\">" + line.substr(0, line.size() - 1) + "&#010;</stdout>\n";
    }
    EXPECT_EQ(unpacked(mark, tagged).texts, std::vector{text});
    EXPECT_EQ(unpacked(mark, xml).texts, std::vector{text});
    // At any place, with what is taken at once.
    constexpr size_t block = 1024;
    for (const std::string tag : {"0: ", "[1,0]<stdout>:", "\n0: "}) {
        for (size_t first = 0; first < block; ++first) {
            std::string with_tags = all_of(lines);
            for (size_t at = first; at < with_tags.size(); at += block + tag.size()) {
                with_tags.insert(at, tag);
            }
            ASSERT_EQ(unpacked(mark, with_tags).texts, std::vector{text}) << tag << first;
        }
    }
}

TEST(DoctorsRecord, IsDamagedWithoutAPart) {
    const auto a = packed(mark, "12345678901.321", long_text(500));
    const auto b = packed(mark, "2.1", "short");
    ASSERT_EQ(a.size(), 6U); // each line twice
    EXPECT_EQ(unpacked(mark, a[0] + b[0] + a[2] + a[4]).texts.size(), 2U);
    const Unpacked part = unpacked(mark, a[0] + b[0] + a[3]);
    EXPECT_EQ(part.texts, std::vector<std::string>{"short"});
    EXPECT_EQ(part.damaged, 1U);
    EXPECT_EQ(unpacked(mark, mark + "{}\n" + mark + "{}\n").damaged, 1U);
    EXPECT_EQ(unpacked(mark, b[0].substr(0, b[0].size() - 2)).damaged, 1U); // it has no end
    EXPECT_EQ(unpacked(mark, mark + "1 1 1 41;" + mark + "1 0 1 4g;").damaged, 1U);
}

TEST(DoctorsOutput, KeepsMarkedLinesOnly) {
    MarkedLines lines(mark);
    for (const char* const text : {"none\nin fr", "ont pro", "be:1\n", "y\nprobe:2"}) {
        lines.add(text);
    }
    EXPECT_EQ(lines.text(), "in front probe:1\nprobe:2\n");
    const std::string flood(1 << 20, 'y');
    for (int i = 0; i < 40; ++i) {
        lines.add(flood);
        lines.add("\n");
        lines.add(mark);
        lines.add(flood);
        lines.add("\n");
    }
    EXPECT_LT(lines.text().size(), size_t{1} << 20); // long lines are cut
    std::string many;
    for (int i = 0; i < 100'000; ++i) { many += mark + std::string(100, 'y') + "\n"; }
    for (int i = 0; i < 4; ++i) { lines.add(many); }
    EXPECT_LT(lines.text().size(), size_t{17} << 20);
}

TEST(DoctorsOutput, KeepsBeginningAndEnd) {
    Ends ends;
    ends.add("begin\n");
    ends.add("end");
    EXPECT_EQ(ends.text(), "begin\nend");
    for (int i = 0; i < 100'000; ++i) { ends.add("middle\n"); }
    ends.add("last");
    EXPECT_LT(ends.text().size(), 70'000U);
    EXPECT_TRUE(ends.text().starts_with("begin\nendmiddle\n"));
    EXPECT_TRUE(ends.text().ends_with("middle\nlast"));
}

TEST(DoctorsOutput, TellsTheFirstLinesAndTheLast) {
    EXPECT_EQ(telling_words_of(""), "");
    EXPECT_EQ(telling_words_of("one\n"), "one");
    EXPECT_EQ(telling_words_of("-----\none\r\n\ntwo\nthree"), "one | two | three");
    EXPECT_EQ(telling_words_of("1\n2\n3\n4\n5\n"), "1 | 2 | 5");
    EXPECT_EQ(telling_words_of("nodeaware: shared memory: a\nb\n"), "b");
    const std::string odd{"\x1b[31mred\0 \xc2\x9b \xc3\xa9", 15};
    EXPECT_EQ(telling_words_of(odd), "?[31mred? ? \xc3\xa9");
    EXPECT_EQ(memory_words_of("x\nnodeaware: shared memory: a\nshared memory: b\x7f\n"), "b?");
    EXPECT_EQ(memory_words_of("x\n"), "");
}

} // namespace nodeaware::tool::doctor
