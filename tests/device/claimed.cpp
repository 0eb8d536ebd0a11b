#include "tests/device/claimed.hpp"

#include "tests/device/driver_function.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

Claim read_claim() {
    const char* const text = std::getenv("GPU_STAND_IN_ALL");
    const char* const rank = rank_of_this();
    if (text == nullptr || rank == nullptr) { return Claim::none; } // launchers are no ranks
    const std::string_view wanted = text;
    if (wanted == "device") { return Claim::device; }
    if (wanted == "managed") { return Claim::managed; }
    constexpr Claim by_rank[] = {Claim::none, Claim::device, Claim::managed};
    return wanted == "mixed" ? by_rank[std::strtoul(rank, nullptr, 10) % 3] : Claim::none;
}

/// Before the program begins, as its memory is there already.
const bool has_begun = [] {
    void* context = nullptr;
    return claim() != Claim::none && cuInit(0) == success &&
           cuDevicePrimaryCtxRetain(&context, 0) == success;
}();

/// A test that moves nothing there shows nothing.
struct AtEnd {
    AtEnd() = default;
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;
    ~AtEnd() {
        if (has_begun && counts().copies + counts().launches == 0) {
            std::fputs("stand-in: nothing was copied from or to memory of devices\n", stderr);
        }
    }
} at_end;

} // namespace

Claim claim() {
    static const Claim claimed = read_claim();
    return claimed;
}
