#include "runtime/job/launcher.hpp"

#include <gtest/gtest.h>

namespace nodeaware {
namespace {

using Environment = std::vector<std::string>;

std::string variable_of(const Environment& environment) {
    return launched_with_others(environment, false).variable;
}

TEST(Launcher, IsKnownByItsVariables) {
    const Launched launched = launched_with_others(
        {"PATH=/bin", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=0"}, false);
    EXPECT_EQ(launched.variable, "OMPI_COMM_WORLD_SIZE");
    EXPECT_EQ(launched.count, "4");
    EXPECT_TRUE(launched.is_rank_0);
    EXPECT_EQ(variable_of({"PMI_SIZE=2", "PMI_RANK=1"}), "PMI_SIZE");
    EXPECT_FALSE(launched_with_others({"PMI_SIZE=2", "PMI_RANK=1"}, false).is_rank_0);
    EXPECT_FALSE(launched_with_others({"PMI_SIZE=2"}, false).is_rank_0);
    EXPECT_EQ(variable_of({"JSM_NAMESPACE_SIZE=12", "JSM_NAMESPACE_RANK=0"}), "JSM_NAMESPACE_SIZE");
}

TEST(Launcher, IsNoneWhereNobodyElseWasStarted) {
    EXPECT_EQ(variable_of({}), "");
    EXPECT_EQ(variable_of({"PMI_SIZE=1", "PMI_RANK=0"}), "");
    EXPECT_EQ(variable_of({"PMI_SIZE=", "PMI_RANK=0"}), "");
    EXPECT_EQ(variable_of({"PMI_SIZE_OF=2", "MY_PMI_SIZE=2", "PMI_SIZE=four"}), "");
    // A job of one process inside a larger one, either way.
    EXPECT_EQ(variable_of({"OMPI_COMM_WORLD_SIZE=4", "PMI_SIZE=1"}), "");
    EXPECT_EQ(variable_of({"OMPI_COMM_WORLD_SIZE=1", "PMI_SIZE=4"}), "");
}

TEST(Launcher, OfSlurmIsThatOfAStep) {
    const Environment step = {"SLURM_NTASKS=8", "SLURM_PROCID=0", "SLURM_STEP_ID=0",
                              "SLURM_STEP_NUM_TASKS=8"};
    EXPECT_EQ(variable_of(step), "SLURM_STEP_NUM_TASKS");
    EXPECT_TRUE(launched_with_others(step, true).is_rank_0);
    // A batch script, the shell of salloc, and a step of processes that are meant to be alone.
    EXPECT_EQ(variable_of({"SLURM_NTASKS=8", "SLURM_PROCID=0", "SLURM_STEP_ID=4294967291"}), "");
    EXPECT_EQ(variable_of({"SLURM_NTASKS=8", "SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=1"}), "");
    Environment alone = step;
    alone.emplace_back("SLURM_MPI_TYPE=none");
    EXPECT_EQ(variable_of(alone), "");
    // The daemons of Open MPI are a step, too; their processes are what mpirun says.
    Environment daemon = step;
    daemon.emplace_back("OMPI_COMM_WORLD_SIZE=1");
    EXPECT_EQ(variable_of(daemon), "");
    daemon.back() = "OMPI_COMM_WORLD_SIZE=16";
    EXPECT_EQ(variable_of(daemon), "OMPI_COMM_WORLD_SIZE");
    // srun in what mpirun has started.
    EXPECT_EQ(
        launched_with_others({"OMPI_COMM_WORLD_SIZE=4", "SLURM_STEP_NUM_TASKS=1"}, true).variable,
        "");
}

TEST(Launcher, IsRightWhereTheWorldHasOthers) { EXPECT_EQ(complaint_of_launcher(2, "MPICH"), ""); }

} // namespace
} // namespace nodeaware
