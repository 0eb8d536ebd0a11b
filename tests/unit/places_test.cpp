#include "runtime/trace/modules.hpp"
#include "tests/unit/made_up_trace.hpp"
#include "tools/nodeaware/trace/line_tool.hpp"
#include "tools/nodeaware/trace/module_file.hpp"
#include "tools/nodeaware/trace/places.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <sys/stat.h>

namespace nodeaware::tool {

namespace {

[[gnu::noinline]] const void* where_this_is_called() { return __builtin_return_address(0); }

/// A trace of one rank, one of whose sites is here.
Trace with_site(const std::string& site, const std::string& build_id = "") {
    Trace trace;
    trace.nodes = {0};
    trace.begin = "2020-01-01T00:00:00Z";
    trace.ranks.resize(1);
    RankTrace& rank = trace.ranks.front();
    rank.sites.push_back({"MPI_Send", site, -1, 1, 1, 1, 0});
    const size_t plus = site.rfind('+');
    if (!build_id.empty()) { rank.build_ids[site.substr(0, plus)] = build_id; }
    return trace;
}

const TracedSite& site_of(const Trace& trace) { return trace.ranks.front().sites.front(); }

struct Symbol {
    std::string name;
    int type;
    int section;
    uint64_t address;
    uint64_t size;
};

template <class Value> std::string bytes_of(const Value& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// A file that has symbols and nothing else, as far as can be read from a stripped library.
std::string elf_of(const std::vector<Symbol>& symbols) {
    std::string names(1, '\0');
    std::string table;
    for (const Symbol& symbol : symbols) {
        ElfW(Sym) entry = {};
        entry.st_name = static_cast<uint32_t>(names.size());
        entry.st_info = static_cast<unsigned char>(symbol.type);
        entry.st_shndx = static_cast<uint16_t>(symbol.section);
        entry.st_value = symbol.address;
        entry.st_size = symbol.size;
        names += symbol.name + '\0';
        table += bytes_of(entry);
    }
    ElfW(Ehdr) header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    header.e_shentsize = sizeof(ElfW(Shdr));
    header.e_shnum = 2;
    header.e_shoff = sizeof header;
    std::array<ElfW(Shdr), 2> sections = {};
    sections[0].sh_type = SHT_DYNSYM;
    sections[0].sh_link = 1;
    sections[0].sh_offset = sizeof header + sizeof sections;
    sections[0].sh_size = table.size();
    sections[1].sh_type = SHT_STRTAB;
    sections[1].sh_offset = sections[0].sh_offset + table.size();
    sections[1].sh_size = names.size();
    return bytes_of(header) + bytes_of(sections) + table + names;
}

bool has_tool() { return std::system("addr2line --version >/dev/null 2>&1") == 0; }

} // namespace

TEST(Places, AreLinesOfTheSource) {
    const void* const address = where_this_is_called();
    const int line = __LINE__ - 1;
    const trace::CodePlace code = trace::place_of(address);
    const auto file = read_module_file(code.file);
    ASSERT_TRUE(file.has_value());
    EXPECT_EQ(file->build_id, code.build_id); // in the file as in memory
    if (!has_tool() || code.build_id.empty()) { GTEST_SKIP() << "no addr2line, or no build ID"; }
    Trace trace = with_site(code.site, code.build_id);
    find_places(trace);
    ASSERT_FALSE(site_of(trace).places.empty());
    const SourcePlace& place = site_of(trace).places.front();
    EXPECT_NE(place.function.find("AreLinesOfTheSource"), std::string::npos);
    EXPECT_EQ(std::filesystem::path(place.file).filename(), "places_test.cpp");
    EXPECT_EQ(place.line, line);
    EXPECT_EQ(
        short_name_of_place(site_of(trace)).find("places_test.cpp:" + std::to_string(line) + " ("),
        0U);
}

TEST(Places, OfAFileThatIsAnotherOneNowAreNotLookedUp) {
    const trace::CodePlace code = trace::place_of(where_this_is_called());
    for (const char* build_id : {"00", ""}) { // changed after the trace was made, too
        Trace trace = with_site(code.site, build_id);
        find_places(trace);
        EXPECT_TRUE(site_of(trace).places.empty());
    }
}

TEST(Places, ThatAreNowhereStayAsTheyAre) {
    const std::string pipe =
        testing::TempDir() + "nodeaware-places-" + std::to_string(getpid()) + ".pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    for (const std::string& site :
         {std::string("/nowhere/app+0x10"), std::string("/proc+0x10"), std::string("/dev/zero+0x1"),
          pipe + "+0x10", std::string("/etc/passwd+0x10"), std::string("+0x10"), std::string("app"),
          std::string("app+0x"), std::string("app+0xfffffffffffffffff"), std::string("app+0x10z"),
          std::string()}) {
        Trace trace = with_site(site, "00");
        find_places(trace);
        EXPECT_TRUE(site_of(trace).places.empty()) << site;
        EXPECT_EQ(site_of(trace).site, site);
    }
    unlink(pipe.c_str());
}

TEST(Places, OfToolsThatSayAnything) {
    const auto one = read_line_tool("0x10\nsolve\n/a/b.c:12 (discriminator 3)\nmain\nb.c:40\n", 1);
    ASSERT_EQ(one.front().size(), 2U);
    EXPECT_EQ(one.front()[0].file, "/a/b.c");
    EXPECT_EQ(one.front()[0].line, 12);
    EXPECT_EQ(one.front()[1].function, "main");
    const auto some = read_line_tool("0x1\n??\n??:0\n0x2\nknown\n??:?\n0x3\n??\nx.c:?\n", 3);
    EXPECT_TRUE(some[0].empty());
    ASSERT_EQ(some[1].size(), 1U);
    EXPECT_EQ(some[1].front().function, "known");
    EXPECT_EQ(some[1].front().file, "");
    EXPECT_TRUE(some[2].empty());
    for (const char* said : {"", "\n", "solve\nb.c:1\n", "0x1", "0x1\nsolve",
                             "0x1\n0x2\n0x3\nf\nb.c:1\n", "0x1\nf\n:99999999999999999999\n"}) {
        const auto read = read_line_tool(said, 2);
        ASSERT_EQ(read.size(), 2U);
        EXPECT_TRUE(read[0].empty() || read[0].front().file.empty()) << said;
    }
}

TEST(Places, AreInFunctionsThatReachThatFar) {
    const std::vector<Symbol> symbols = {{"small", STT_FUNC, 1, 0x9430, 21},
                                         {"alias@V1", STT_FUNC, 1, 0x9430, 16},
                                         {"sizeless", STT_FUNC, 1, 0x9800, 0},
                                         {"elsewhere", STT_FUNC, SHN_UNDEF, 0x9900, 99},
                                         {"data", STT_OBJECT, 1, 0x9900, 999}};
    const std::string path = testing::TempDir() + "nodeaware-elf-" + std::to_string(getpid());
    const std::string bytes = elf_of(symbols);
    std::ofstream(path, std::ios::binary) << bytes;
    using List = std::vector<std::string>;
    EXPECT_EQ(
        functions_at(path, {0x99ac, 0x9430, 0x942f, 0x9444, 0x9445, 0x9430, 0x9801}),
        (std::vector<List>{{}, {"small", "alias"}, {}, {"small"}, {}, {"small", "alias"}, {}}));
    for (const size_t left : {bytes.size() - 1, sizeof(ElfW(Ehdr)), size_t{0}}) {
        std::filesystem::resize_file(path, left);
        EXPECT_EQ(functions_at(path, {0x9430}), (std::vector<List>{{}})) << left;
    }
    unlink(path.c_str());
    EXPECT_EQ(functions_at(path, {0x9430}), (std::vector<List>{{}}));
}

TEST(Places, HaveShortNames) {
    TracedSite site{"MPI_Send", "/a/b/app+0x10", -1, 1, 1, 1, 0};
    EXPECT_EQ(short_name_of_place(site), "app+0x10");
    site.places = {{"f(int, char (*)(long))", "", 0}};
    EXPECT_EQ(short_name_of_place(site), "app+0x10 (f)");
    site.places = {{"(anonymous namespace)::A::operator()(int) const", "/src/a.cpp", 7}};
    EXPECT_EQ(short_name_of_place(site), "a.cpp:7 (A::operator())");
    site.places = {{"", "a.cpp", 7}};
    EXPECT_EQ(short_name_of_place(site), "a.cpp:7");
    site.places = {{std::string(1000, 'x'), "a.cpp", 7}};
    EXPECT_LT(short_name_of_place(site).size(), 60U);
}

} // namespace nodeaware::tool
