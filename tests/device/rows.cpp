// Copies of rows.

#include "runtime/device/driver.hpp"
#include "tests/device/copy_engine.hpp"
#include "tests/device/driver_function.hpp"
#include "tests/device/reach.hpp"
#include "tests/device/stream.hpp"

#include <algorithm>
#include <mutex>

DRIVER cuMemcpy2DAsync_v2(const nodeaware::device::RowsCopy* what, void* stream) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    using Rows = nodeaware::device::RowsCopy;
    const bool is_to_device = what->to_kind == Rows::on_device && what->from_kind == Rows::on_host;
    const bool is_to_host = what->to_kind == Rows::on_host && what->from_kind == Rows::on_device;
    const bool is_sound = is_a_stream(stream) && (is_to_device || is_to_host) && what->rows > 0 &&
                          std::min(what->to_stride, what->from_stride) >= what->bytes;
    int code = is_sound ? success : invalid_value;
    if (code != success) { return code; }
    const std::size_t stride = is_to_device ? what->to_stride : what->from_stride;
    char* const reached = reach(is_to_device ? what->to_device : what->from_device,
                                (what->rows - 1) * stride + what->bytes, &code);
    if (reached == nullptr) { return code; }
    const std::lock_guard lock(driver_mutex());
    counts().bytes -= (what->rows - 1) * (stride - what->bytes);
    return begin_rows(stream, is_to_device ? to_device : to_host,
                      {is_to_device ? reached : reinterpret_cast<char*>(what->to_host),
                       is_to_device ? reinterpret_cast<const char*>(what->from_host) : reached,
                       what->bytes, what->rows, what->to_stride, what->from_stride});
}
