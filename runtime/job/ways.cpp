#include "runtime/job/ways.hpp"

namespace nodeaware {

const std::vector<Way>& ways() {
    static const std::vector<Way> list = [] {
        const Strategy* const model = find_strategy("model");
        std::vector<Way> all = {{"native", nullptr}, {model->name, model}};
        for (const Strategy& strategy : strategies()) {
            if (&strategy != model) { all.push_back({strategy.name, &strategy}); }
        }
        const Strategy* const radix = find_strategy("radix");
        all.push_back({"radix 2", radix, true, false});
        all.push_back({"radix whole", radix, false, true});
        all.push_back({"radix 2 whole", radix, true, true});
        return all;
    }();
    return list;
}

std::vector<std::string_view> names_of_ways() {
    std::vector<std::string_view> names;
    for (const Way& way : ways()) { names.push_back(way.name); }
    return names;
}

} // namespace nodeaware
