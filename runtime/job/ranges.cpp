#include "runtime/job/ranges.hpp"

#ifdef NODEAWARE_HAS_NVTX
#include <cstdio>
#include <nvtx3/nvToolsExt.h>
#endif

namespace nodeaware::ranges {

#ifdef NODEAWARE_HAS_NVTX

namespace {

nvtxDomainHandle_t domain = nullptr;

/// Text and number of a range. What shows them copies both.
class Event {
  public:
    Event(std::string_view what, std::string_view how, uint64_t bytes) {
        std::snprintf(text_, sizeof text_, "%.*s %.*s", static_cast<int>(what.size()), what.data(),
                      static_cast<int>(how.size()), how.data());
        attributes_.version = NVTX_VERSION;
        attributes_.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        attributes_.messageType = NVTX_MESSAGE_TYPE_ASCII;
        attributes_.message.ascii = text_;
        attributes_.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
        attributes_.payload.ullValue = bytes;
    }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    const nvtxEventAttributes_t* attributes() const { return &attributes_; }

  private:
    char text_[96] = "";
    nvtxEventAttributes_t attributes_{};
};

} // namespace

bool are_built() { return true; }

bool turn_on() {
    domain = nvtxDomainCreateA("nodeaware");
    are_on = true;
    return true;
}

void Range::push(std::string_view what, std::string_view how, uint64_t bytes) {
    nvtxDomainRangePushEx(domain, Event(what, how, bytes).attributes());
    is_open_ = true;
}

void Range::pop() { nvtxDomainRangePop(domain); }

void LongRange::open(std::string_view what, std::string_view how, uint64_t bytes) {
    if (!are_on) { return; }
    id_ = nvtxDomainRangeStartEx(domain, Event(what, how, bytes).attributes());
    is_open_ = true;
}

void LongRange::close() const { nvtxDomainRangeEnd(domain, id_); }

#else

bool are_built() { return false; }
bool turn_on() { return false; }
void Range::push(std::string_view /*what*/, std::string_view /*how*/, uint64_t /*bytes*/) {}
void Range::pop() {}
void LongRange::open(std::string_view /*what*/, std::string_view /*how*/, uint64_t /*bytes*/) {}
void LongRange::close() const {}

#endif

} // namespace nodeaware::ranges
