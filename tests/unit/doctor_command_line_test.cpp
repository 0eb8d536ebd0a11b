#include "tools/nodeaware/doctor/command_line.hpp"
#include "tools/nodeaware/launch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unistd.h>

namespace nodeaware::tool::doctor {

namespace {

namespace fs = std::filesystem;
using Kind = ProgramFacts::Kind;
using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
    std::istringstream stream(line);
    return {std::istream_iterator<std::string>(stream), {}};
}

/// A folder of programs, the only one in PATH.
class DoctorsCommandLine : public testing::Test {
  protected:
    void SetUp() override {
        folder = fs::path(testing::TempDir()) / ("nodeaware-doctor-" + std::to_string(getpid()));
        fs::create_directories(folder);
        before = fs::current_path();
        fs::current_path(folder);
        for (const char* name : {"orterun", "mpiexec.hydra", "app", "run.sh"}) {
            write(name, "#!/bin/sh\n", fs::perms::owner_all);
        }
        fs::create_symlink(folder / "orterun", folder / "mpirun");
        path = std::getenv("PATH");
        setenv("PATH", folder.c_str(), 1);
    }
    void TearDown() override {
        fs::current_path(before);
        setenv("PATH", path.c_str(), 1);
        fs::remove_all(folder);
    }
    static void write(const fs::path& name, const std::string& text, fs::perms permissions) {
        std::ofstream(name, std::ios::binary) << text;
        fs::permissions(name, permissions);
    }

    fs::path folder, before;
    std::string path;
};

} // namespace

TEST_F(DoctorsCommandLine, TheProbeTakesThePlaceOfProgramsAndTheirArguments) {
    const char* const cases[][2] = {
        {"mpirun -n 4", "mpirun -n 4 @"},
        {"mpirun -n 4 app -n 3", "mpirun -n 4 @"},
        {"mpirun -n 4 ./missing x", "mpirun -n 4 @"},
        {"mpirun -n 1 app x : -n 2 env A=1 ./run.sh y", "mpirun -n 1 @ : -n 2 env A=1 @"},
        {"mpirun -n 1 app : -n 2", "mpirun -n 1 @ : -n 2"},
        {"time srun -N 2 -n 64 app", "time srun -N 2 -n 64 @"},
        {"srun -N 2", "srun -N 2 @"},
        {"srun apptainer exec --bind /l image.sif app x",
         "srun apptainer exec --bind /l image.sif @"},
        {"srun apptainer exec docker://a/b app x", "srun apptainer exec docker://a/b @"},
        {"srun ch-run -b /l:/l -w image -- ./inside x", "srun ch-run -b /l:/l -w image -- @"},
        {"srun ch-run image -- env A=1 app", "srun ch-run image -- env A=1 @"},
    };
    for (const auto& [command, expected] : cases) {
        SCOPED_TRACE(command);
        const Job job = understand_job(words_of(command), std::nullopt);
        EXPECT_EQ(with_probe(job, {"@"}), words_of(expected));
        EXPECT_EQ(job.facts.size(), job.programs.size());
    }
    EXPECT_EQ(with_probe(understand_job(words_of("mpirun -n 4 app x"), std::nullopt), {"@", "y"}),
              words_of("mpirun -n 4 @ y"));
}

TEST_F(DoctorsCommandLine, LaunchersWriteNoFiles) {
    const char* const cases[][2] = {
        {"mpirun --output-filename DIR -n 4 app --output-filename x", "mpirun -n 4 @"},
        {"mpirun -n 2 --report-uri u app : -output-filename DIR -n 1 app",
         "mpirun -n 2 @ : -n 1 @"},
        {"mpirun --output dir=D,tag -n 2 app", "mpirun -n 2 @"},
        {"mpiexec.hydra -outfile-pattern o -errfile-pattern=e -n 4 app", "mpiexec.hydra -n 4 @"},
        {"mpiexec.hydra -n 4 -outfile-pattern o", "mpiexec.hydra -n 4 @"},
        {"srun -o result.txt -e err -n 4 app", "srun -n 4 @"},
        {"srun -oresult.txt --error=err --output out -E -n 4 numactl -o app",
         "srun -E -n 4 numactl -o @"},
        {"srun --export=ALL --exclusive -n 4 --open-mode append app",
         "srun --export=ALL --exclusive -n 4 --open-mode append @"},
        {"jsrun -o out --stdio_stderr err -n 4 app", "jsrun -n 4 @"},
        {"flux run --output=o -n 4 -o cpu-affinity=on app", "flux run -n 4 -o cpu-affinity=on @"},
    };
    for (const auto& [command, expected] : cases) {
        SCOPED_TRACE(command);
        const Job job = understand_job(words_of(command), std::nullopt);
        EXPECT_EQ(with_probe(job, {"@"}), words_of(expected));
    }
}

TEST_F(DoctorsCommandLine, NothingElseIsRun) {
    for (const char* const command :
         {"app -n 4", "run.sh mpirun -n 4", "run.sh app", "missing -n 4", "docker run image app",
          "-n 4", "", "apptainer exec image.sif mpirun app", "mpirun apptainer exec app",
          "ch-run image -- mpirun app", "srun shifter app"}) {
        EXPECT_THROW(understand_job(words_of(command), std::nullopt), LaunchError) << command;
    }
}

TEST_F(DoctorsCommandLine, TheMpiIsThatOfTheLauncherUnlessItIsTold) {
    const auto job = [](const char* command, std::optional<MpiFlavor> wanted = std::nullopt) {
        return understand_job(words_of(command), wanted);
    };
    EXPECT_EQ(job("mpirun -n 4 app").flavor, MpiFlavor::openmpi);
    EXPECT_EQ(job("mpiexec.hydra -n 4").flavor, MpiFlavor::mpich);
    const Job told = job("mpirun -n 4", MpiFlavor::mpich);
    EXPECT_EQ(told.flavor, MpiFlavor::mpich);
    EXPECT_EQ(told.launcher, MpiFlavor::openmpi);
    EXPECT_FALSE(told.is_srun);
    EXPECT_TRUE(job("srun -n 4").is_srun);
}

TEST_F(DoctorsCommandLine, FilesTellWhatTheyAre) {
    std::ifstream stream("/proc/self/exe", std::ios::binary);
    const std::string own{std::istreambuf_iterator<char>(stream), {}};
    std::string foreign = own;
    foreign[EI_NIDENT + 2] = static_cast<char>(foreign[EI_NIDENT + 2] ^ 0x55); // e_machine
    std::string fixed = own.substr(0, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr));
    fixed[offsetof(Elf64_Ehdr, e_phnum)] = 1;
    fixed[sizeof(Elf64_Ehdr)] = PT_LOAD;
    write("own", own, fs::perms::owner_all);
    write("foreign", foreign, fs::perms::owner_all);
    write("fixed", fixed, fs::perms::owner_all);
    write("text", "", fs::perms::owner_read);
    EXPECT_EQ(look_at("own").kind, Kind::linked_dynamically);
    EXPECT_FALSE(look_at("own").has_privileges);
    EXPECT_EQ(look_at("foreign").kind, Kind::foreign);
    EXPECT_EQ(look_at("fixed").kind, Kind::linked_statically);
    EXPECT_EQ(look_at("app").kind, Kind::script);
    EXPECT_EQ(look_at("./text").kind, Kind::not_executable);
    EXPECT_EQ(look_at("./nowhere").kind, Kind::missing);
    if (getuid() == 0) { // who else can give files away?
        ASSERT_EQ(chown("own", 1, 1), 0);
        fs::permissions("own", fs::perms::set_uid, fs::perm_options::add);
        EXPECT_TRUE(look_at("own").has_privileges);
    }
}

TEST_F(DoctorsCommandLine, FilesTellWhichCLibraryTheyNeed) {
    EXPECT_TRUE(needed_glibc("/proc/self/exe").starts_with("2."));
    EXPECT_EQ(needed_glibc("app"), "");
    EXPECT_EQ(needed_glibc("nowhere"), "");
}

} // namespace nodeaware::tool::doctor
