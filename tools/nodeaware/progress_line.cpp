#include "tools/nodeaware/progress_line.hpp"

#include <chrono>
#include <cstdio>

namespace nodeaware::tool {

namespace {

double clock_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

} // namespace

ProgressLine::ProgressLine(Kind kind) : kind_(kind), last_(clock_seconds()) {}

void ProgressLine::show(const std::string& text) {
    if (kind_ != Kind::none) { show_at(clock_seconds(), text); }
}

void ProgressLine::show_at(double seconds, const std::string& text) {
    if (kind_ == Kind::rewritten) {
        std::fprintf(stderr, "\r%-*s", static_cast<int>(width_), text.c_str());
        std::fflush(stderr);
        width_ = text.size();
    } else if (kind_ == Kind::lines && seconds - last_ >= seconds_between_lines) {
        std::fprintf(stderr, "nodeaware: %s\n", text.c_str());
        last_ = seconds;
    }
}

void ProgressLine::clear() {
    if (width_ == 0) { return; }
    std::fprintf(stderr, "\r%*s\r", static_cast<int>(width_), "");
    width_ = 0;
}

} // namespace nodeaware::tool
