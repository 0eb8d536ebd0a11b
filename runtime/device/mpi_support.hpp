#pragma once

namespace nodeaware::device {

/// What the MPI of this process says of itself: that it takes memory of devices. It may have been
/// built for that, and find none.
bool mpi_says_it_is_aware();

} // namespace nodeaware::device
