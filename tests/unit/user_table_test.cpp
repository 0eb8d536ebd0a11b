// Where model tables are when nobody says where.

#include "tuning/table_file.hpp"
#include "tuning/user_table.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace nodeaware::tuning {
namespace {

namespace fs = std::filesystem;

Fingerprint host(const char* mpi, const char* model) {
    Fingerprint print;
    print.mpi = mpi;
    print.host_model = model;
    return print;
}

/// Two folders, gone at the end.
class UserTable : public testing::Test {
  protected:
    UserTable() {
        for (const std::string& folder : folders_) { fs::create_directories(folder); }
    }
    ~UserTable() override { fs::remove_all(root_); }

    std::string own(const std::string& name) const { return folders_[0] + "/" + name; }
    std::string shared(const std::string& name) const { return folders_[1] + "/" + name; }
    static void write(const std::string& path, const Fingerprint& measured) {
        ModelTable table = find_table("lassen-spectrum");
        table.fingerprint = measured;
        std::ofstream(path) << to_json_text(table);
    }
    std::string found(const Fingerprint& here) const { return find_table_of(here, folders_); }

  private:
    std::string root_ = fs::temp_directory_path() / ("user_table_test." + std::to_string(getpid()));
    std::vector<std::string> folders_{root_ + "/own", root_ + "/shared"};
};

const Fingerprint open_mpi = host("Open MPI", "AMD EPYC 7763 64-Core Processor");
const Fingerprint mpich = host("MPICH", "AMD EPYC 7763 64-Core Processor");

TEST_F(UserTable, IsInTheConfigurationFolder) {
    EXPECT_EQ(user_table_folder("/config", "/home/me"), "/config/nodeaware");
    EXPECT_EQ(user_table_folder(nullptr, "/home/me"), "/home/me/.config/nodeaware");
    EXPECT_EQ(user_table_folder("", "/home/me"), "/home/me/.config/nodeaware");
    EXPECT_EQ(user_table_folder("relative", "/home/me"), "/home/me/.config/nodeaware");
    EXPECT_EQ(user_table_folder(nullptr, nullptr), "");
    EXPECT_EQ(user_table_folder("relative", ""), "");
}

TEST_F(UserTable, HasTheNamesOfItsMpiAndHost) {
    using Names = std::vector<std::string>;
    EXPECT_EQ(table_names(open_mpi),
              (Names{"model-openmpi-amd-epyc-7763-64-core-processor.json", "model-openmpi.json"}));
    EXPECT_EQ(table_names(host("Intel(R) MPI", "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz")),
              (Names{"model-intelmpi-intel-xeon-gold-6148-cpu.json", "model-intelmpi.json"}));
    EXPECT_EQ(table_names(host("MPICH", "")), Names{"model-mpich.json"});
    EXPECT_EQ(table_names(host("MPICH", "../@")), Names{"model-mpich.json"});
    EXPECT_EQ(table_names(host("", "a host")), Names{});
}

TEST_F(UserTable, OfAnotherMpiIsNotUsed) {
    EXPECT_EQ(found(open_mpi), "");
    write(own("model-openmpi.json"), open_mpi);
    EXPECT_EQ(found(open_mpi), own("model-openmpi.json"));
    EXPECT_EQ(found(mpich), "");
}

TEST_F(UserTable, OfThisHostComesFirstAndThenTheUsers) {
    write(shared("model-mpich-amd-epyc-7763-64-core-processor.json"), mpich);
    EXPECT_EQ(found(mpich), shared("model-mpich-amd-epyc-7763-64-core-processor.json"));
    write(own("model-mpich.json"), mpich);
    EXPECT_EQ(found(mpich), own("model-mpich.json"));
    write(own("model-mpich-amd-epyc-7763-64-core-processor.json"), mpich);
    EXPECT_EQ(found(mpich), own("model-mpich-amd-epyc-7763-64-core-processor.json"));
}

TEST_F(UserTable, OfAnotherHostIsUsedWhereThereIsNoOther) {
    write(own("model-mpich.json"), host("MPICH", "POWER9"));
    EXPECT_EQ(found(mpich), own("model-mpich.json"));
    write(shared("model-mpich.json"), mpich);
    EXPECT_EQ(found(mpich), shared("model-mpich.json"));
}

TEST_F(UserTable, UnderItsOldNameIsUsedByItsMpiOnly) {
    write(own("model.json"), open_mpi);
    EXPECT_EQ(found(open_mpi), own("model.json"));
    EXPECT_EQ(found(mpich), "");
    write(own("model.json"), host("", ""));
    EXPECT_EQ(found(mpich), own("model.json"));
    std::ofstream(own("model.json")) << "{"; // to be complained about
    EXPECT_EQ(found(mpich), own("model.json"));
    write(own("model-mpich.json"), mpich);
    EXPECT_EQ(found(mpich), own("model-mpich.json"));
}

TEST_F(UserTable, OfAnotherHostIsNotReplaced) {
    const std::string folder = fs::path(own("x")).parent_path();
    EXPECT_EQ(path_of_new_table(mpich, folder), own("model-mpich.json"));
    write(own("model-mpich.json"), mpich);
    EXPECT_EQ(path_of_new_table(mpich, folder), own("model-mpich.json"));
    EXPECT_EQ(path_of_new_table(host("MPICH", "POWER9"), folder), own("model-mpich-power9.json"));
    EXPECT_EQ(path_of_new_table(host("", ""), folder), own("model.json"));
}

} // namespace
} // namespace nodeaware::tuning
