#include "tuning/postal.hpp"

#include <algorithm>

namespace nodeaware::tuning {

double postal(const Postal& path, double bytes) { return path.alpha + path.beta * bytes; }

double max_rate(const Postal& path, const Load& load, double inverse_rate) {
    return path.alpha * load.messages +
           std::max(load.node_bytes * inverse_rate, load.bytes * path.beta);
}

} // namespace nodeaware::tuning
