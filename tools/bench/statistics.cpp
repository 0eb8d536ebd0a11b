#include "statistics.hpp"

#include <cstdio>

namespace bench {

std::string number(double value, int decimals) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
    return buffer;
}

std::string spread(const Summary& s, int decimals) {
    return number(s.median, decimals) + " [" + number(s.min, decimals) + "-" +
           number(s.max, decimals) + "]";
}

} // namespace bench
