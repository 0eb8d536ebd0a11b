#include "tools/nodeaware/info_model.hpp"

#include "tools/nodeaware/used_table.hpp"
#include "tuning/table_file.hpp"

#include <cstdio>

namespace nodeaware::tool {

using Json = nlohmann::ordered_json;

Json describe_model() {
    const auto [wanted, loaded] = used_table();
    Json model = {{"name", loaded.table.name}};
    if (!wanted.empty()) { model["wanted"] = wanted; }
    if (!loaded.complaint.empty()) { model["complaint"] = loaded.complaint; }
    const Json table = Json::parse(tuning::to_json_text(loaded.table));
    model["copies"] = table.value("copies", Json::array());
    return model;
}

void print_model(const Json& model) {
    std::printf("\nModel table %s", model["name"].get<std::string>().c_str());
    if (model.contains("wanted")) {
        std::printf(" (%s)", model["wanted"].get<std::string>().c_str());
    }
    std::printf("\n");
    if (model.contains("complaint")) {
        std::printf("  ! %s\n", model["complaint"].get<std::string>().c_str());
    }
    if (model["copies"].empty()) {
        std::printf("  no copies between hosts and GPUs\n");
        return;
    }
    std::printf("  %-15s %-7s %-7s %9s %10s %10s %10s\n", "copies", "memory", "socket", "processes",
                "alpha us", "next us", "us/MB");
    for (const Json& copy : model["copies"]) {
        std::printf("  %-15s %-7s %-7s %9d %10.3f ", copy["direction"].get<std::string>().c_str(),
                    copy.value("host_memory", "pinned").c_str(),
                    copy["same_socket"].get<bool>() ? "same" : "other",
                    copy["processes"].get<int>(), 1e6 * copy["alpha"].get<double>());
        if (copy.contains("next")) {
            std::printf("%10.3f", 1e6 * copy["next"].get<double>());
        } else {
            std::printf("%10s", "-");
        }
        std::printf(" %10.3f\n", 1e12 * copy["beta"].get<double>());
    }
}

} // namespace nodeaware::tool
