#include "tools/nodeaware/doctor/judge.hpp"
#include "tools/nodeaware/doctor/words.hpp"

#include <gtest/gtest.h>

namespace nodeaware::tool::doctor {

namespace {

using Kind = ProgramFacts::Kind;

RankFacts good_rank() {
    RankFacts rank;
    rank.host = "a";
    rank.mpi = "Open MPI 4.1.4";
    rank.mpi_file = "/usr/lib/libmpi.so.40.30.4";
    rank.libc = "2.36";
    rank.library = "/opt/lib/libnodeaware.so";
    rank.core = "/opt/lib/libnodeaware-openmpi.so";
    rank.identity = "1";
    rank.preloads = {"/opt/lib/libnodeaware.so"};
    return rank;
}

/// Four ranks on each of two nodes, where all is well.
Facts good() {
    Facts facts;
    facts.programs = {{"./app", Kind::linked_dynamically, MpiFlavor::openmpi, false}};
    facts.library = "/opt/lib/libnodeaware.so";
    facts.glibc_needed = "2.34";
    facts.run.was_started = true;
    facts.run.seconds = 1.24;
    JobFacts job;
    job.ranks = 8;
    job.machines = 2;
    job.node_of = {0, 0, 0, 0, 1, 1, 1, 1};
    job.groups = {{{0, 1, 2, 3}, good_rank()}, {{4, 5, 6, 7}, good_rank()}};
    job.groups[1].facts.host = "b";
    job.wanted_bytes = 128 << 20;
    job.memory = {{"a", true, false, 0}, {"b", true, false, 0}};
    job.table = {"/home/me/model.json", "mine", "", ""};
    facts.jobs = {job};
    facts.exchange_run = facts.run;
    facts.exchange = {0, true, true, {}};
    return facts;
}

JobFacts& job_of(Facts& facts) { return facts.jobs.front(); }
RankFacts& first_of(Facts& facts) { return job_of(facts).groups[0].facts; }
RankFacts& second_of(Facts& facts) { return job_of(facts).groups[1].facts; }

/// Of so many ranks, each a job of its own.
Facts worlds_of_one(size_t ranks) {
    Facts facts = good();
    JobFacts alone = job_of(facts);
    alone.ranks = 1;
    alone.node_of = {0};
    alone.groups = {{{0}, good_rank()}};
    facts.jobs.assign(ranks, alone);
    return facts;
}

/// That it has this verdict and these words, and a remedy unless all is well.
void expect(const Line& line, Verdict verdict, const std::string& words) {
    EXPECT_EQ(line.verdict, verdict) << line.name << ": " << line.found;
    EXPECT_NE(line.found.find(words), std::string::npos) << line.name << ": " << line.found;
    EXPECT_EQ(line.remedy.empty(), verdict == Verdict::ok) << line.remedy;
}

} // namespace

TEST(Doctor, FindsNothingWhereAllIsWell) {
    const std::vector<Line> lines = judge(good());
    std::string names;
    for (const Line& line : lines) {
        EXPECT_EQ(line.verdict, Verdict::ok) << line.name << ": " << line.found;
        names += line.name + ",";
    }
    EXPECT_EQ(names, "program,launcher,ranks,nodes,MPI,library,C library,tools,memory,settings,"
                     "table,exchange,");
    EXPECT_EQ(worst_of(lines), Verdict::ok);
}

TEST(Doctor, LooksAtPrograms) {
    const auto line = [](Kind kind, bool has_privileges = false) {
        return judge_program({"./app", kind, MpiFlavor::mpich, has_privileges});
    };
    expect(line(Kind::linked_dynamically), Verdict::ok, "./app needs MPICH");
    expect(judge_program({"python3", Kind::linked_dynamically, std::nullopt, false}), Verdict::ok,
           "does not tell which MPI");
    expect(line(Kind::script), Verdict::ok, "is a script");
    expect(line(Kind::in_container), Verdict::ok, "container");
    expect(line(Kind::missing), Verdict::wrong, "does not exist");
    expect(line(Kind::not_executable), Verdict::wrong, "no file that may be run");
    expect(line(Kind::foreign), Verdict::wrong, "another kind of processor");
    expect(line(Kind::linked_statically), Verdict::wrong, "statically linked");
    expect(judge_program({"./app", Kind::linked_dynamically, MpiFlavor::abi, false}), Verdict::ok,
           "needs MPI's standard binary interface");
    expect(line(Kind::linked_dynamically, true), Verdict::wrong, "ignores LD_PRELOAD");
}

TEST(Doctor, SaysHowLaunchersFail) {
    expect(judge_launcher(good()), Verdict::ok, "1.2 s");
    Facts facts = good();
    facts.run.status = 3;
    facts.run.last_words = "bad end";
    expect(judge_launcher(facts), Verdict::warning, "exit status 3: bad end");
    facts.jobs.clear();
    expect(judge_launcher(facts), Verdict::wrong, "no rank was heard of; exit status 3: bad end");
    EXPECT_EQ(judge_launcher(facts).remedy.find("container"), std::string::npos);
    Facts in_container = facts;
    in_container.programs.front().kind = Kind::in_container;
    EXPECT_NE(judge_launcher(in_container).remedy.find("container"), std::string::npos);
    facts.run.status = 0;
    facts.run.last_words.clear();
    expect(judge_launcher(facts), Verdict::wrong, "exit status 0, and said nothing");
    facts.run.is_out_of_time = true;
    facts.run.seconds = 60;
    expect(judge_launcher(facts), Verdict::wrong, "ended after 60.0 s");
    facts.jobs = good().jobs;
    expect(judge_launcher(facts), Verdict::wrong, "heard of, but it did not end");
    facts.run.wants_terminal = true;
    expect(judge_launcher(facts), Verdict::wrong, "read from the terminal");
    facts.run.was_started = false;
    facts.run.obstacle = "no probe";
    expect(judge_launcher(facts), Verdict::wrong, "not started: no probe");
    facts.run.lacks_launcher = true;
    EXPECT_NE(judge_launcher(facts).remedy.find("have its folder in PATH"), std::string::npos);
}

TEST(Doctor, DoesNotTakeForWellWhatItCannotRead) {
    Facts facts = good();
    facts.jobs.clear();
    facts.exchange_run.reset();
    facts.run.unreadable = 1;
    expect(judge_launcher(facts), Verdict::wrong, "cannot be read; exit status 0");
    EXPECT_NE(judge_launcher(facts).remedy.find("--xml, --tag-output"), std::string::npos);
    EXPECT_EQ(worst_of(judge(facts)), Verdict::wrong);
}

TEST(Doctor, SaysOnlyWhatIsKnownWhereNoRankWasHeardOf) {
    Facts facts = good();
    facts.jobs.clear();
    facts.exchange_run.reset();
    facts.run.status = 1;
    EXPECT_EQ(judge(facts).size(), 2U); // program and launcher
    facts.library.clear();
    facts.no_library = "none";
    facts.bad_setting = "PPN";
    facts.run.last_words = "app: /lib/libc.so.6: version `GLIBC_2.38' not found (required by app)";
    const std::vector<Line> lines = judge(facts);
    ASSERT_EQ(lines.size(), 5U);
    expect(lines[2], Verdict::wrong, "none");
    expect(lines[3], Verdict::wrong, "older than 2.38");
    expect(lines[4], Verdict::wrong, "PPN");
}

TEST(Doctor, ComparesRanksWithWhatTheLauncherSays) {
    Facts facts = good();
    expect(judge_ranks(facts), Verdict::ok, "8");
    first_of(facts).launcher = {{"OMPI_COMM_WORLD_SIZE", "8"}, {"SLURM_NTASKS", "64"}};
    expect(judge_ranks(facts), Verdict::ok, "8, as OMPI_COMM_WORLD_SIZE says");
    first_of(facts).launcher = {{"PMI_SIZE", "16"}};
    expect(judge_ranks(facts), Verdict::wrong, "8 ranks, where the launcher has said PMI_SIZE=16");
    // Those of the allocation, whose launcher is another one.
    first_of(facts).launcher = {{"SLURM_NTASKS", "64"}};
    expect(judge_ranks(facts), Verdict::ok, "8");
    facts.is_srun = true;
    expect(judge_ranks(facts), Verdict::wrong, "SLURM_NTASKS=64");
}

TEST(Doctor, KnowsTheLauncherOfAnotherMpi) {
    Facts facts = worlds_of_one(4);
    const Line line = judge_ranks(facts);
    expect(line, Verdict::wrong, "4 processes, and each is a job of one rank");
    facts.launcher = MpiFlavor::mpich;
    expect(judge_ranks(facts), Verdict::wrong,
           "launcher belongs to MPICH, the program to Open MPI");
    EXPECT_NE(line.remedy.find("mpirun.openmpi"), std::string::npos) << line.remedy;
    facts.flavor = MpiFlavor::mpich;
    EXPECT_NE(judge_ranks(facts).remedy.find("mpiexec.hydra"), std::string::npos);
    facts.is_srun = true;
    EXPECT_NE(judge_ranks(facts).remedy.find("srun --mpi=pmix"), std::string::npos);
    // What others have said may be damaged, or lost.
    facts.jobs.resize(1);
    facts.run.unreadable = 3;
    expect(judge_ranks(facts), Verdict::wrong, "4 processes");
    facts.run.unreadable = 0;
    facts.is_srun = false;
    facts.jobs[0].groups[0].facts.launcher = {{"PMI_SIZE", "4"}};
    expect(judge_ranks(facts), Verdict::wrong, "a job of one rank");
    facts.jobs[0].groups[0].facts.launcher.clear();
    expect(judge_ranks(facts), Verdict::warning, "only one");
    // Nothing is said of the nodes of such jobs.
    const std::vector<Line> lines = judge(worlds_of_one(4));
    for (const Line& one : lines) { EXPECT_NE(one.name, "nodes"); }
}

TEST(Doctor, LooksAtNodes) {
    const auto line = [](const std::vector<int>& nodes) {
        Facts facts = good();
        job_of(facts).node_of = nodes;
        job_of(facts).ranks = static_cast<int>(nodes.size());
        return judge_nodes(job_of(facts));
    };
    expect(line({0, 0, 1, 1}), Verdict::ok, "2 nodes with 2 ranks each");
    expect(line({0, 0, 0}), Verdict::warning, "1 node with 3 ranks: no message leaves it");
    expect(line({0, 1, 2}), Verdict::warning, "3 nodes with 1 rank each: there are no messages");
    expect(line({0, 0, 0, 1, 1}), Verdict::warning, "2 nodes with 2 to 3 ranks each: the others");
    expect(line({0, 1, 0, 1}), Verdict::warning, "dealt out in turns");
    Facts facts = good();
    job_of(facts).has_virtual_nodes = true;
    job_of(facts).machines = 1;
    expect(judge_nodes(job_of(facts)), Verdict::warning, "virtual ones of 1 machine");
}

TEST(Doctor, ComparesMpis) {
    Facts facts = good();
    expect(judge_mpi(facts), Verdict::ok, "Open MPI 4.1.4");
    facts.programs[0].mpi_file = first_of(facts).mpi_file;
    expect(judge_mpi(facts), Verdict::ok, "Open MPI 4.1.4");
    facts.programs[0].mpi_file = "/opt/lib/libmpi.so.40";
    expect(judge_mpi(facts), Verdict::warning, "./app needs /opt/lib/libmpi.so.40");
    second_of(facts).mpi = "Open MPI 4.1.5";
    expect(judge_mpi(facts), Verdict::warning, "ranks 4-7: Open MPI 4.1.5");
}

TEST(Doctor, WantsTheLibraryOnEveryRank) {
    Facts facts = good();
    expect(judge_library(facts), Verdict::ok, "libnodeaware-openmpi.so on all ranks");
    second_of(facts).identity = "2";
    expect(judge_library(facts), Verdict::wrong, "ranks 4-7: /opt/lib/libnodeaware.so of b");
    second_of(facts).core_error = "cannot open shared object file";
    expect(judge_library(facts), Verdict::wrong, "ranks 4-7: cannot open shared object file");
    second_of(facts).library.clear();
    expect(judge_library(facts), Verdict::wrong, "ranks 4-7: the loader cannot load it on b");
    second_of(facts).preloads = {"other.so"};
    expect(judge_library(facts), Verdict::wrong, "ranks 4-7: LD_PRELOAD does not have it on b");
    facts.library.clear();
    facts.no_library = "there is none in /opt";
    expect(judge_library(facts), Verdict::wrong, "there is none in /opt");
}

TEST(Doctor, ComparesTheCLibrary) {
    Facts facts = good();
    second_of(facts).libc = "2.34";
    expect(judge_libc(facts), Verdict::ok, "2.34, 2.36; the core needs 2.34");
    second_of(facts).libc = "2.4";
    expect(judge_libc(facts), Verdict::wrong, "the core needs 2.34; ranks 4-7: 2.4 on b");
    facts.glibc_needed.clear();
    expect(judge_libc(facts), Verdict::ok, "2.36");
}

TEST(Doctor, NamesOtherTools) {
    Facts facts = good();
    expect(judge_tools(job_of(facts)), Verdict::ok, "none");
    second_of(facts).preloads.emplace_back("/usr/lib/libjemalloc.so");
    expect(judge_tools(job_of(facts)), Verdict::warning, "ranks 4-7: /usr/lib/libjemalloc.so");
    first_of(facts).tools = {"/usr/lib/libmpiP.so"};
    expect(judge_tools(job_of(facts)), Verdict::warning, "ranks 0-3: /usr/lib/libmpiP.so");
}

TEST(Doctor, WantsMemoryThatIsShared) {
    Facts facts = good();
    JobFacts& job = job_of(facts);
    const auto line = [&] { return judge_memory(job, facts.run); };
    expect(line(), Verdict::ok, "128 MiB");
    job.memory[1].is_in_dev_shm = true;
    job.memory[1].free_bytes = std::uint64_t{1} << 30;
    expect(line(), Verdict::ok, "in /dev/shm");
    job.memory[1].free_bytes = 130 << 20;
    expect(line(), Verdict::warning, "b has 130 MiB");
    job.memory[1].is_shared = false;
    facts.run.memory_words = "No space left";
    expect(line(), Verdict::wrong, "cannot share 128 MiB on b: No space left");
}

TEST(Doctor, ReadsSettings) {
    Facts facts = good();
    expect(judge_settings(facts), Verdict::ok, "by default");
    first_of(facts).settings = {"NODEAWARE_LOG=", "NODEAWARE_REPORT=1"};
    expect(judge_settings(facts), Verdict::warning, "ranks 4-7: without some");
    second_of(facts).settings = {"NODEAWARE_LOG=", "NODEAWARE_REPORT=2"};
    expect(judge_settings(facts), Verdict::warning, "ranks 4-7: NODEAWARE_REPORT=2");
    second_of(facts).settings = first_of(facts).settings;
    expect(judge_settings(facts), Verdict::ok, "NODEAWARE_REPORT=1");
    job_of(facts).is_native = true;
    expect(judge_settings(facts), Verdict::warning, "leaves every operation to MPI");
    job_of(facts).is_native = false;
    EXPECT_EQ(judge_settings(facts).found, "NODEAWARE_REPORT=1");
    job_of(facts).is_observing = true;
    expect(judge_settings(facts), Verdict::warning, "NODEAWARE_MODE=observe");
    job_of(facts).is_disabled = true;
    expect(judge_settings(facts), Verdict::wrong, "NODEAWARE_DISABLE");
    job_of(facts).is_disabled = false;
    job_of(facts).unwritable = {"NODEAWARE_REPORT: /no/report: No such file or directory"};
    expect(judge_settings(facts), Verdict::warning, "/no/report");
    facts.bad_setting = "here";
    expect(judge_settings(facts), Verdict::wrong, "here");
    job_of(facts).complaints = {"there", "and there"};
    expect(judge_settings(facts), Verdict::wrong, "there; and there");
}

TEST(Doctor, LooksAtTheTable) {
    Facts facts = good();
    TableFacts& table = job_of(facts).table;
    expect(judge_table(job_of(facts)), Verdict::ok, "/home/me/model.json");
    table.difference = "it was measured with MPICH";
    expect(judge_table(job_of(facts)), Verdict::warning, "measured with MPICH");
    table.wanted.clear();
    expect(judge_table(job_of(facts)), Verdict::warning, "none of this machine");
    table.wanted = "/home/me/model.json";
    table.complaint = "/home/me/model.json: no JSON";
    expect(judge_table(job_of(facts)), Verdict::wrong, "no JSON; in its place: mine");
}

TEST(Doctor, ExchangesData) {
    Facts facts = good();
    const auto line = [&] { return judge_exchange(facts); };
    expect(line(), Verdict::ok, "was rerouted, as a trial by three_step");
    facts.exchange->is_rerouted = false;
    facts.exchange->left_to_mpi = {"no memory", "no time"};
    expect(line(), Verdict::warning, "by three_step, was left to MPI: no memory, no time");
    job_of(facts).memory.pop_back();
    expect(line(), Verdict::ok, "left to MPI"); // all ranks are on one node
    facts.exchange->has_report = false;
    facts.exchange_run->last_words = "not of the same version";
    expect(line(), Verdict::wrong, "did not start");
    expect(line(), Verdict::wrong, "not of the same version");
    facts.exchange->wrong = 7;
    expect(line(), Verdict::wrong, "7 wrong values");
    facts.exchange.reset();
    facts.exchange_run->status = 139;
    expect(line(), Verdict::wrong, "exit status 139: not of the same version");
    facts.exchange_run->is_out_of_time = true;
    expect(line(), Verdict::wrong, "did not come to an end");
}

TEST(Doctor, SendsFactsAsText) {
    Facts facts = good();
    first_of(facts).preloads = {"not UTF-8: \xff"};
    const std::string text = to_text(job_of(facts));
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const auto job = read_job(text);
    ASSERT_TRUE(job);
    EXPECT_EQ(to_text(*job), text);
    EXPECT_EQ(job->groups[1].facts, second_of(facts));
    EXPECT_EQ(job->groups[1].ranks, (std::vector{4, 5, 6, 7}));
    const ExchangeFacts exchange = {3, true, false, {"reason"}};
    EXPECT_EQ(read_exchange(to_text(exchange)), exchange);
    EXPECT_FALSE(read_exchange("{}"));
    // All that is cut off, and what does not hold together.
    for (size_t length = 0; length < text.size(); ++length) {
        EXPECT_FALSE(read_job(text.substr(0, length)));
    }
    job_of(facts).node_of.pop_back();
    EXPECT_FALSE(read_job(to_text(job_of(facts))));
    facts = good();
    job_of(facts).groups.clear();
    EXPECT_FALSE(read_job(to_text(job_of(facts))));
}

TEST(Doctor, CountsInWords) {
    EXPECT_EQ(ranks_in_words({3}), "rank 3");
    EXPECT_EQ(ranks_in_words({0, 1, 3, 5, 6, 7}), "ranks 0, 1, 3, 5-7");
    EXPECT_EQ(counted(1, "node"), "1 node");
    EXPECT_EQ(counted(2, "node"), "2 nodes");
    EXPECT_EQ(bytes_in_words(4096), "4096 bytes");
    EXPECT_EQ(bytes_in_words(128 << 20), "128 MiB");
}

} // namespace nodeaware::tool::doctor
