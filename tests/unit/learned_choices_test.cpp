#include "tuning/learned_choices.hpp"
#include "tuning/learner.hpp"

#include <gtest/gtest.h>

namespace nodeaware::tuning {

namespace {

using Setups = std::vector<LearnedSetup>;

Fingerprint machine(int nodes) {
    Fingerprint machine;
    machine.mpi = "Open MPI";
    machine.mpi_version = "4.1.4";
    machine.nodes = nodes;
    machine.processes_per_node = 16;
    machine.library_version = "0.1.0";
    return machine;
}

const LearnedChoice varying = {{"alltoallv", 32, 2, 16, 0}, "three_step", 1.25e-5};
const LearnedChoice small = {{"alltoall", 32, 2, 16, 4}, "native", 3e-6};

std::string complaint(const std::string& text) {
    try {
        parse_learned(text, "file");
    } catch (const TableError& error) { return error.what(); }
    return "";
}

} // namespace

TEST(LearnedChoices, AreReadAsTheyWereWritten) {
    const Setups setups = {{machine(2), {varying, small}}, {machine(3), {}}};
    EXPECT_EQ(parse_learned(to_json_text(setups), "file"), setups);
    EXPECT_EQ(parse_learned(to_json_text(Setups()), "file"), Setups());
}

TEST(LearnedChoices, ReplaceThoseForTheSameCalls) {
    Setups setups;
    merge(setups, machine(2), {varying});
    merge(setups, machine(3), {varying});
    LearnedChoice later = varying;
    later.candidate = "split";
    merge(setups, machine(2), {later, small});
    ASSERT_EQ(setups.size(), 2U);
    EXPECT_EQ(setups[0].choices, (std::vector<LearnedChoice>{later, small}));
    EXPECT_EQ(setups[1].choices, std::vector<LearnedChoice>{varying});
}

TEST(LearnedChoices, OfCommunicatorsThatDifferAreNotKept) {
    const int one = 0;
    const int other = 0;
    LearnedChoice split = varying;
    split.candidate = "split";
    MeasuredChoices measured;
    measured.add(&one, split);
    measured.add(&one, varying); // it has learned more
    measured.add(&other, varying);
    measured.add(&one, small);
    EXPECT_EQ(measured.choices().size(), 2U);
    measured.add(&other, split);
    EXPECT_EQ(measured.choices(), std::vector<LearnedChoice>{small});
    measured.add(&other, varying); // and so it stays
    measured.add(&one, varying);
    EXPECT_EQ(measured.choices(), std::vector<LearnedChoice>{small});
}

TEST(LearnedChoices, WhatIsWrongIsNamed) {
    const std::string good = to_json_text(Setups{{machine(2), {varying}}});
    const auto with = [&](const std::string& old, const std::string& text) {
        std::string changed = good;
        changed.replace(changed.find(old), old.size(), text);
        return complaint(changed);
    };
    EXPECT_EQ(complaint(good), "");
    EXPECT_EQ(complaint("[").find("file: is no JSON"), 0U);
    EXPECT_NE(with("-choices\"", "\"").find("format"), std::string::npos);
    EXPECT_NE(with("\"version\": 1", "\"version\": 2").find("is 2, must be 1"), std::string::npos);
    EXPECT_NE(with("\"size_class\": 0", "\"size_class\": -1").find("size_class"),
              std::string::npos);
    EXPECT_NE(with("\"strategy\"", "\"stratgy\"").find("strategy"), std::string::npos);
    EXPECT_NE(with("\"seconds\"", "\"more\": 1, \"seconds\"").find("more"), std::string::npos);
}

TEST(LearnedChoices, ASettledLearnerMeasuresNothing) {
    Learner learner({"native", "model", "split"}, 0);
    learner.settle(2);
    for (int call = 0; call < 1000; ++call) {
        learner.begin_call();
        EXPECT_FALSE(learner.agrees_now());
        EXPECT_FALSE(learner.measures());
        EXPECT_EQ(learner.choice(), 2U);
    }
    EXPECT_FALSE(learner.best_measured());
}

} // namespace nodeaware::tuning
