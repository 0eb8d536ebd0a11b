#include "tools/nodeaware/launch.hpp"
#include "tools/nodeaware/placed_launch.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <link.h>
#include <sstream>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

const Preload preload = {"/l/nodeaware.so", {"NODEAWARE_PPN=2"}};

/// Words with spaces between.
Words words_of(const std::string& line) {
    std::istringstream stream(line);
    return {std::istream_iterator<std::string>(stream), {}};
}

/// A folder of programs, the only one in PATH.
class Launching : public testing::Test {
  protected:
    void SetUp() override {
        folder = fs::path(testing::TempDir()) / ("nodeaware-launch-" + std::to_string(getpid()));
        fs::create_directories(folder);
        for (const char* name : {"orterun", "mpiexec.hydra", "app", "node", "bash", "python3",
                                 "time", "run.sh", "lmp_openmpi", "hydra3d", "mpich_test"}) {
            add_program(name);
        }
        fs::create_symlink(folder / "orterun", folder / "mpirun");
        fs::create_symlink(folder / "orterun", folder / "my_start");
        fs::create_symlink(folder / "mpiexec.hydra", folder / "mpiexec");
        path = std::getenv("PATH");
        setenv("PATH", folder.c_str(), 1);
        unsetenv("LD_PRELOAD");
        before = fs::current_path();
        fs::current_path(folder);
    }
    void TearDown() override {
        fs::current_path(before);
        setenv("PATH", path.c_str(), 1);
        fs::remove_all(folder);
    }

    void add_program(const std::string& name) const {
        std::ofstream(folder / name) << "#!/bin/sh\n";
        fs::permissions(folder / name, fs::perms::owner_all);
    }

    static size_t program_of(const Words& command) {
        const Launch launch = understand(command);
        EXPECT_EQ(launch.programs.size(), 1U);
        return launch.programs.front().at;
    }

    fs::path folder, before;
    std::string path;
};

struct Case {
    const char* command;
    const char* preloaded; ///< with @ for `env` and the preload
    const char* mpi;       ///< "-": not told
};

const Case cases[] = {
    // The program alone, whatever it is called, and whether or not it is here.
    {"app -n 7", "@ app -n 7", "-"},
    {"./lmp_openmpi -in x", "@ ./lmp_openmpi -in x", "-"},
    {"./hydra3d mpirun", "@ ./hydra3d mpirun", "-"},
    {"./mpich_test", "@ ./mpich_test", "-"},
    {"./elsewhere", "@ ./elsewhere", "-"},
    // What may start MPI programs: its words are its own.
    {"./run.sh mpirun -n 4 ./app", "@ ./run.sh mpirun -n 4 ./app", "-"},
    {"python3 driver.py --launcher mpirun", "@ python3 driver.py --launcher mpirun", "-"},
    {"bash -c ./app", "@ bash -c ./app", "-"},
    // Launchers.
    {"mpirun -n 4 app", "mpirun -n 4 @ app", "openmpi"},
    {"./my_start -n 4 app", "./my_start -n 4 @ app", "openmpi"},
    {"mpirun.openmpi --map-by node python3 x.py", "mpirun.openmpi --map-by node @ python3 x.py",
     "openmpi"},
    {"mpirun -n 2 ./lmp_openmpi", "mpirun -n 2 @ ./lmp_openmpi", "openmpi"},
    {"mpirun -n 2 ./hydra3d", "mpirun -n 2 @ ./hydra3d", "openmpi"},
    {"mpiexec.hydra -genv A B -n 4 app", "mpiexec.hydra -genv A B -n 4 @ app", "mpich"},
    {"mpiexec -n 4 ./run.sh", "mpiexec -n 4 @ ./run.sh", "mpich"},
    {"mpiexec.mpich -n 4 app", "mpiexec.mpich -n 4 @ app", "mpich"},
    {"mpirun_rsh -np 4 app", "mpirun_rsh -np 4 @ app", "-"},
    {"srun -N 2 --ntasks-per-node=3 -l app", "srun -N 2 --ntasks-per-node=3 -l @ app", "-"},
    {"srun python3 x.py", "srun @ python3 x.py", "-"},
    {"flux run -n 4 app", "flux run -n 4 @ app", "-"},
    // Each part.
    {"mpirun -n 1 app x : -n 2 app y", "mpirun -n 1 @ app x : -n 2 @ app y", "openmpi"},
    {"time mpirun -n 1 numactl -l app : -n 2 env A=1 run.sh : bash",
     "time mpirun -n 1 @ numactl -l app : -n 2 env A=1 @ run.sh : @ bash", "openmpi"},
    {"./app a : b", "@ ./app a : b", "-"},
    // Tools in front of launchers.
    {"env A=1 mpirun ./app", "env A=1 mpirun @ ./app", "openmpi"},
    {"env -u B A=1 time -o f mpiexec -n 2 app", "env -u B A=1 time -o f mpiexec -n 2 @ app",
     "mpich"},
    {"timeout -k 5 100 srun app", "timeout -k 5 100 srun @ app", "-"},
    {"sudo -u user mpirun app", "sudo -u user mpirun @ app", "openmpi"},
    // Tools watch the program, not env.
    {"valgrind --tool=callgrind ./app", "@ valgrind --tool=callgrind ./app", "-"},
    {"mpirun -n 2 valgrind -q ./app", "mpirun -n 2 @ valgrind -q ./app", "openmpi"},
    {"mpirun -n 2 perf stat -e cycles -- ./app", "mpirun -n 2 @ perf stat -e cycles -- ./app",
     "openmpi"},
    {"srun numactl -N 0 -m 0 gdb --args ./app", "srun @ numactl -N 0 -m 0 gdb --args ./app", "-"},
    // Options whose value is in the same word, if they have one, and others.
    {"srun --bcast --propagate -K --cpu-bind none app",
     "srun --bcast --propagate -K --cpu-bind none @ app", "-"},
    {"mpirun --show-progress --report-pid pid app", "mpirun --show-progress --report-pid pid @ app",
     "openmpi"},
    {"mpiexec.hydra -rr -gtool gdb -n 4 app", "mpiexec.hydra -rr -gtool gdb -n 4 @ app", "mpich"},
    {"srun -vn 4 -F hosts --cpu_bind cores --job-n j app",
     "srun -vn 4 -F hosts --cpu_bind cores --job-n j @ app", "-"},
    {"srun -vn4 -Kl --bcast app", "srun -vn4 -Kl --bcast @ app", "-"},
    {"mpiexec.hydra -profile -machine hosts app", "mpiexec.hydra -profile -machine hosts @ app",
     "mpich"},
    // Tools that may take the environment away, or change it.
    {"env A=1 ./app", "env A=1 @ ./app", "-"},
    {"mpirun env -i A=1 valgrind ./app", "mpirun env -i A=1 @ valgrind ./app", "openmpi"},
    {"taskset -c 0-3 sudo -u me ./app", "taskset -c 0-3 sudo -u me @ ./app", "-"},
    {"env", "@ env", "-"},
};

} // namespace

TEST_F(Launching, ThePreloadGoesWhereTheProgramGetsIt) {
    const std::string inserted = "/usr/bin/env NODEAWARE_PPN=2 LD_PRELOAD=/l/nodeaware.so";
    for (const Case& row : cases) {
        SCOPED_TRACE(row.command);
        Words expected;
        for (const std::string& word : words_of(row.preloaded)) {
            const Words words = word == "@" ? words_of(inserted) : Words{word};
            expected.insert(expected.end(), words.begin(), words.end());
        }
        const Words command = words_of(row.command);
        const Launch launch = understand(command);
        EXPECT_EQ(with_preload(command, launch, preload), expected);
        EXPECT_STREQ(launch.flavor ? name_of(*launch.flavor) : "-", row.mpi);
    }
}

TEST_F(Launching, ValuesOfOptionsAreNotPrograms) {
    // "node" is a program, but not here.
    EXPECT_EQ(program_of({"mpirun", "-n", "4", "--map-by", "node", "--mca", "btl", "self",
                          "-oversubscribe", "app", "-n", "7"}),
              9U);
    EXPECT_EQ(program_of({"mpirun", "--map-by=node", "app"}), 2U);
    EXPECT_EQ(program_of({"mpiexec", "-genv", "A", "B", "-ppn", "2", "-n", "4", "app"}), 8U);
    EXPECT_EQ(program_of({"srun", "-N", "2", "--ntasks-per-node=3", "-l", "app"}), 5U);
    EXPECT_EQ(program_of({"mpirun", "-n", "4", "--", "app"}), 4U);
    // Nor are those of options that are not known here, where there is a program behind them.
    EXPECT_EQ(program_of({"perf", "record", "--new-option", "value", "app"}), 4U);
}

TEST_F(Launching, ContainersAreToldInTheirOwnWay) {
    const Words apptainer = words_of("srun -n 2 numactl -l apptainer exec --bind /l image app");
    const Launch launch = understand(apptainer);
    EXPECT_EQ(with_preload(apptainer, launch, preload),
              words_of("srun -n 2 /usr/bin/env APPTAINERENV_NODEAWARE_PPN=2 "
                       "APPTAINERENV_LD_PRELOAD=/l/nodeaware.so numactl -l apptainer exec --bind "
                       "/l image app"));
    EXPECT_EQ(launch.flavor, std::nullopt);
    const Words singularity = words_of("singularity exec image mpirun -n 2 app");
    EXPECT_EQ(
        with_preload(singularity, understand(singularity), {"/l/n.so", {}}),
        words_of(
            "/usr/bin/env SINGULARITYENV_LD_PRELOAD=/l/n.so singularity exec image mpirun -n 2 "
            "app"));
    const Words charliecloud = words_of("srun -n 2 ch-run -b /l:/l image -- ./inside app");
    const Launch in_image = understand(charliecloud);
    EXPECT_EQ(
        with_preload(charliecloud, in_image, {"/l/n.so", {}}),
        words_of(
            "srun -n 2 /usr/bin/env LD_PRELOAD=/l/n.so ch-run -b /l:/l image -- ./inside app"));
    EXPECT_EQ(charliecloud.at(in_image.programs.front().at), "./inside");
    EXPECT_EQ(in_image.flavor, std::nullopt);
    EXPECT_THROW(understand({"srun", "shifter", "--image=i", "app"}), LaunchError);
    EXPECT_THROW(understand({"docker", "run", "image", "app"}), LaunchError);
    EXPECT_THROW(understand({"mpirun", "-n", "2", "ssh", "host", "app"}), LaunchError);
}

TEST_F(Launching, OtherPreloadedLibrariesStay) {
    setenv("LD_PRELOAD", "/x/tool.so", 1);
    const Words alone = with_preload({"app"}, understand({"app"}), {"/l/n.so", {}});
    const Words words = words_of("env LD_PRELOAD=/y/a.so:/y/b.so app");
    const Words named = with_preload(words, understand(words), {"/l/n.so", {}});
    const Words job = words_of("mpirun -x LD_PRELOAD=/y/a.so app : app");
    const Words all = words_of("env LD_PRELOAD=/y/a.so mpirun app");
    const Words in_front = with_preload(all, understand(all), {"/l/n.so", {}});
    const Words parts = with_preload(job, understand(job), {"/l/n.so", {}});
    unsetenv("LD_PRELOAD");
    EXPECT_EQ(alone, words_of("/usr/bin/env LD_PRELOAD=/l/n.so:/x/tool.so app"));
    EXPECT_EQ(named, words_of("env LD_PRELOAD=/y/a.so:/y/b.so /usr/bin/env "
                              "LD_PRELOAD=/l/n.so:/y/a.so:/y/b.so app"));
    EXPECT_EQ(
        in_front,
        words_of("env LD_PRELOAD=/y/a.so mpirun /usr/bin/env LD_PRELOAD=/l/n.so:/y/a.so app"));
    EXPECT_EQ(parts,
              words_of("mpirun -x LD_PRELOAD=/y/a.so /usr/bin/env LD_PRELOAD=/l/n.so:/y/a.so app : "
                       "/usr/bin/env LD_PRELOAD=/l/n.so:/x/tool.so app"));
}

TEST_F(Launching, OtherPreloadedLibrariesStayHoweverALauncherIsToldOfThem) {
    for (const std::string launcher : {"mpiexec -genv LD_PRELOAD /y/a.so -n 2",
                                       "srun --export=ALL,LD_PRELOAD=/y/a.so,X=1 -n 2"}) {
        const Words words = words_of(launcher + " app");
        EXPECT_EQ(with_preload(words, understand(words), {"/l/n.so", {}}),
                  words_of(launcher + " /usr/bin/env LD_PRELOAD=/l/n.so:/y/a.so app"));
    }
}

/// env would take it for a setting.
TEST_F(Launching, AProgramMayHaveAnEqualsSignInItsPath) {
    fs::create_directory("n=4");
    add_program("n=4/app");
    const Words words = words_of("mpirun -n 2 ./n=4/app x");
    EXPECT_EQ(
        with_preload(words, understand(words), {"/l/n.so", {}}),
        words_of("mpirun -n 2 /usr/bin/env LD_PRELOAD=/l/n.so /usr/bin/nice -n 0 ./n=4/app x"));
    EXPECT_THROW(understand({"-n", "4", "app"}), LaunchError);
}

/// The launcher stands for the programs, and hands its environment on, if it does.
TEST_F(Launching, AFileMayNameThePrograms) {
    for (const std::string line :
         {"srun -n 4 --multi-prog programs.conf",
          "srun --export=all,A=1 --multi-prog programs.conf", "srun --multi programs.conf",
          "mpiexec.hydra -configfile programs.conf"}) {
        const Words words = words_of(line);
        const Launch launch = understand(words);
        EXPECT_EQ(with_preload(words, launch, {"/l/n.so", {"NODEAWARE_PPN=2"}}),
                  words_of("/usr/bin/env NODEAWARE_PPN=2 LD_PRELOAD=/l/n.so " + line));
        EXPECT_TRUE(launch.has_launcher);
        EXPECT_FALSE(launch.listing.empty());
    }
    const std::vector<std::string> refused = {
        "mpirun.openmpi --app programs",
        "srun --export=NONE --multi-prog programs.conf",
        "srun --export A,B --multi-prog programs.conf",
        "mpiexec.hydra -genvnone -configfile programs.conf",
        "srun -n 2 app : --multi-prog programs.conf",
        "mpiexec.hydra -genv LD_PRELOAD /y/a.so -configfile programs.conf"};
    for (const std::string& line : refused) {
        EXPECT_THROW(understand(words_of(line)), LaunchError) << line;
    }
    setenv("SLURM_EXPORT_ENV", "NONE", 1);
    const Words words = words_of("srun --multi-prog programs.conf");
    EXPECT_THROW(understand(words), LaunchError);
    unsetenv("SLURM_EXPORT_ENV");
    EXPECT_TRUE(understand(words_of("srun app --multi-prog")).listing.empty());
}

/// As srun itself does with the first word.
TEST_F(Launching, WhereRanksHaveNoPathProgramsAreFoundHere) {
    const Words words = words_of("srun --export=NONE -n 2 app : -n 1 ./app");
    const Words full = with_preload(words, understand(words), {"/l/n.so", {}});
    const std::string app = fs::absolute(find_program("app")).string();
    EXPECT_EQ(full, words_of("srun --export=NONE -n 2 /usr/bin/env LD_PRELOAD=/l/n.so " + app +
                             " : -n 1 /usr/bin/env LD_PRELOAD=/l/n.so ./app"));
}

TEST_F(Launching, TheUserMaySayWhichMpi) {
    EXPECT_EQ(understand({"srun", "app"}, MpiFlavor::mpich).flavor, MpiFlavor::mpich);
    EXPECT_EQ(understand({"mpirun", "app"}, MpiFlavor::mpich).flavor, MpiFlavor::mpich);
}

TEST_F(Launching, StaticallyLinkedProgramsAreRefusedUnlessTheUserSaysWhichMpi) {
    std::ifstream self("/proc/self/exe", std::ios::binary);
    std::string image(1 << 16, '\0');
    self.read(image.data(), static_cast<std::streamsize>(image.size()));
    ElfW(Ehdr) header;
    std::memcpy(&header, image.data(), sizeof header);
    for (size_t i = 0; i < header.e_phnum; ++i) { // without the dynamic linker
        ElfW(Phdr) segment;
        char* const at = &image.at(header.e_phoff + i * sizeof segment);
        std::memcpy(&segment, at, sizeof segment);
        if (segment.p_type == PT_INTERP) { segment.p_type = PT_NULL; }
        std::memcpy(at, &segment, sizeof segment);
    }
    EXPECT_FALSE(is_statically_linked("/proc/self/exe"));
    EXPECT_FALSE(is_statically_linked("app")); // a script
    std::ofstream("app", std::ios::binary) << image;
    EXPECT_TRUE(is_statically_linked("app"));
    for (const char* const line : {"./app", "srun -n 2 app", "mpirun -n 2 valgrind ./app"}) {
        EXPECT_THROW(understand(words_of(line)), LaunchError) << line;
        EXPECT_NO_THROW(understand(words_of(line), MpiFlavor::openmpi)) << line;
    }
    EXPECT_NO_THROW(understand(words_of("apptainer exec image ./app")));
}

TEST_F(Launching, CommandsWithoutAProgramAreRefused) {
    for (const char* const line : {"", "mpirun", "mpirun -n 4", "mpirun -n 4 : -n 2 app",
                                   "mpirun -n 2 app :", "env A=1 mpirun -n 4"}) {
        EXPECT_THROW(understand(words_of(line)), LaunchError) << line;
    }
}

TEST_F(Launching, AShellTakesTheLineApartIntoTheSameWords) {
    EXPECT_EQ(quoted({"env", "LD_PRELOAD=/a/b.so:/c", "./app", "-n=2"}),
              "env LD_PRELOAD=/a/b.so:/c ./app -n=2");
    EXPECT_EQ(quoted({"a b", "", "it's", "$x", "a\nb", "*", "~", "\\", "{a,b}"}),
              "'a b' '' 'it'\\''s' '$x' 'a\nb' '*' '~' '\\' '{a,b}'");
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

TEST_F(Launching, APlacementGoesToTheLauncher) {
    const auto placed = [](const std::string& line, std::string_view content) {
        const Words command = words_of(line);
        return placed_by(command, understand(command), "/f", content);
    };
    EXPECT_EQ(placed("time mpirun -n 2 app : app", "rank 0=+n0 slot=0\n"),
              words_of("time mpirun --rankfile /f -n 2 app : app"));
    EXPECT_EQ(placed("mpiexec -n 2 app", "a:4\nb:4\n"), words_of("mpiexec -f /f -n 2 app"));
    EXPECT_EQ(placed("srun -n 2 app", "host\nhost\n"),
              words_of("env SLURM_HOSTFILE=/f srun --distribution=arbitrary -n 2 app"));
    EXPECT_EQ(placed("srun -n 2 app", "0,2\n1,3\n"),
              words_of("env MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE=/f srun -n 2 app"));
    const Words numbered = words_of("env SLURM_HOSTFILE=/f srun --distribution=arbitrary app");
    for (const char* content : {"7\n7\n8\n8\n", "1\n1", "1001\n1002\n", "99999999999999999999\n"}) {
        EXPECT_EQ(placed("srun app", content), numbered) << content;
    }
    EXPECT_EQ(placed("mpiexec app", "1\n0\n"),
              words_of("env MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE=/f mpiexec app"));
}

TEST_F(Launching, APlacementThatTheLauncherDoesNotTakeIsRefused) {
    const auto complaint = [](const std::string& line, std::string_view content) -> std::string {
        const Words command = words_of(line);
        try {
            placed_by(command, understand(command), "/f", content);
        } catch (const LaunchError& error) { return error.what(); }
        return "";
    };
    const std::string takes = "/f has the format ";
    EXPECT_EQ(complaint("srun app", "rank 0=+n0 slot=0\n"),
              takes + "rankfile, but srun takes one of nodeaware place --format slurm");
    EXPECT_EQ(complaint("mpirun app", "0 0\n1 0\n"),
              takes + "map, but mpirun takes one of nodeaware place --format rankfile");
    EXPECT_EQ(complaint("mpiexec app", "host\n"),
              takes + "slurm, but mpiexec takes one of nodeaware place --format hydra");
    EXPECT_EQ(complaint("flux run app", "host\n"),
              takes + "slurm, but flux is not known to take a placement");
    EXPECT_EQ(complaint("mpirun app", "0,1\n"),
              takes + "cray, but mpirun takes one of nodeaware place --format rankfile");
    for (const char* content : {"", "\n0 1\n", "two words\n", "0,1\n1,2\n", "0,2\n", "0,,1\n"}) {
        EXPECT_EQ(complaint("mpirun app", content),
                  "/f:1: expected a file that nodeaware place has written");
    }
    const Words command = words_of("srun app");
    EXPECT_THROW(placed_by(command, understand(command, MpiFlavor::openmpi), "/f", "0,1\n"),
                 LaunchError);
    EXPECT_NE(complaint("./app", "0,1\n").find("expected a launcher"), std::string::npos);
}

} // namespace nodeaware::tool
