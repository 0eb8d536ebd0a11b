#include "tools/nodeaware/launch.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

/// A folder of programs, the only one in PATH.
class Launching : public testing::Test {
  protected:
    void SetUp() override {
        folder = fs::path(testing::TempDir()) / ("nodeaware-launch-" + std::to_string(getpid()));
        fs::create_directories(folder);
        for (const char* name :
             {"orterun", "mpiexec.hydra", "srun", "app", "node", "numactl", "bash"}) {
            add_program(name);
        }
        fs::create_symlink(folder / "orterun", folder / "mpirun");
        fs::create_symlink(folder / "mpiexec.hydra", folder / "mpiexec");
        path = std::getenv("PATH");
        setenv("PATH", folder.c_str(), 1);
        unsetenv("LD_PRELOAD");
    }
    void TearDown() override {
        setenv("PATH", path.c_str(), 1);
        fs::remove_all(folder);
    }

    void add_program(const std::string& name) {
        std::ofstream(folder / name) << "#!/bin/sh\n";
        fs::permissions(folder / name, fs::perms::owner_all);
    }

    static size_t program_of(const Words& command) {
        const Launch launch = understand(command);
        EXPECT_EQ(launch.programs.size(), 1U);
        return launch.programs.front();
    }

    fs::path folder;
    std::string path;
};

} // namespace

TEST_F(Launching, ValuesOfOptionsAreNotPrograms) {
    // "node" is a program, but not here.
    EXPECT_EQ(program_of({"mpirun", "-n", "4", "--map-by", "node", "--mca", "btl", "self",
                          "-oversubscribe", "app", "-n", "7"}),
              9U);
    EXPECT_EQ(program_of({"mpirun", "--map-by=node", "app"}), 2U);
    EXPECT_EQ(program_of({"mpiexec", "-genv", "A", "B", "-ppn", "2", "-n", "4", "app"}), 8U);
    EXPECT_EQ(program_of({"srun", "-N", "2", "--ntasks-per-node=3", "-l", "app"}), 5U);
    EXPECT_EQ(program_of({"mpirun", "-n", "4", "--", "app"}), 4U);
}

TEST_F(Launching, TheLauncherTellsTheMpiWhereTheProgramDoesNot) {
    EXPECT_EQ(understand({"mpirun", "app"}).flavor, MpiFlavor::openmpi);
    EXPECT_EQ(understand({"mpiexec", "app"}).flavor, MpiFlavor::mpich);
    EXPECT_EQ(understand({"srun", "app"}).flavor, std::nullopt);
    EXPECT_EQ(understand({"app"}).flavor, std::nullopt);
}

TEST_F(Launching, EveryPartHasItsProgram) {
    const Words command = {"mpirun", "-n", "1", "app", "x", ":", "-n", "2", "app", "y"};
    EXPECT_EQ(understand(command).programs, (std::vector<size_t>{3, 8}));
    const Words full =
        with_preload(command, understand(command), {"/l/libnodeaware.so", {"NODEAWARE_PPN=2"}});
    EXPECT_EQ(full, (Words{"mpirun", "-n", "1", "env", "NODEAWARE_PPN=2",
                           "LD_PRELOAD=/l/libnodeaware.so", "app", "x", ":", "-n", "2", "env",
                           "NODEAWARE_PPN=2", "LD_PRELOAD=/l/libnodeaware.so", "app", "y"}));
}

TEST_F(Launching, OtherPreloadedLibrariesStay) {
    setenv("LD_PRELOAD", "/x/tool.so", 1);
    const Words full = with_preload({"app"}, understand({"app"}), {"/l/libnodeaware.so", {}});
    unsetenv("LD_PRELOAD");
    EXPECT_EQ(full, (Words{"env", "LD_PRELOAD=/l/libnodeaware.so:/x/tool.so", "app"}));
}

TEST_F(Launching, CommandsWithoutAProgramAreRefused) {
    EXPECT_THROW(understand({}), LaunchError);
    EXPECT_THROW(understand({"mpirun", "-n", "4"}), LaunchError);
    EXPECT_THROW(understand({"mpirun", "-n", "4", ":", "-n", "2", "app"}), LaunchError);
}

TEST_F(Launching, FilesThatAreNoProgramsNeedNoMpi) {
    EXPECT_EQ(mpi_of(folder / "app"), std::nullopt);
    EXPECT_EQ(mpi_of(folder / "missing"), std::nullopt);
    EXPECT_EQ(mpi_of(folder), std::nullopt);
}

TEST_F(Launching, DamagedElfFilesAreSurvived) {
    std::ifstream self("/proc/self/exe", std::ios::binary);
    std::string image(4096, '\0');
    self.read(image.data(), static_cast<std::streamsize>(image.size()));
    for (const size_t length : {4U, 20U, 63U, 64U, 100U, 500U, 4096U}) {
        std::ofstream(folder / "damaged", std::ios::binary) << image.substr(0, length);
        EXPECT_EQ(mpi_of(folder / "damaged"), std::nullopt) << length;
    }
    for (size_t at = 16; at < 64; ++at) { // every byte of the header wrong in turn
        std::string wrong = image;
        wrong[at] = static_cast<char>(0xff);
        std::ofstream(folder / "damaged", std::ios::binary) << wrong;
        EXPECT_EQ(mpi_of(folder / "damaged"), std::nullopt) << at;
    }
}

TEST_F(Launching, AWholeProgramCanBeRead) {
    const auto section = read_dynamic_section("/proc/self/exe");
    ASSERT_TRUE(section.has_value());
    bool needs_libc = false;
    for (const std::string& name : section->needed) {
        needs_libc = needs_libc || name.starts_with("libc.so");
    }
    EXPECT_TRUE(needs_libc);
}

} // namespace nodeaware::tool
