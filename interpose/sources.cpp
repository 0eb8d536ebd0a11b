#include "interpose/abi.hpp"
#include "interpose/number_of_sources.hpp" // made when the library is built

namespace nodeaware::abi {

int sources() { return number_of_sources; }

} // namespace nodeaware::abi
