// A preloaded library that takes shared memory away: memfd_create fails, as where it is forbidden,
// and with SCARCE_SPACE set so does posix_fallocate, as on a full file system.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int memfd_create(const char* name, unsigned flags) {
    (void)name;
    (void)flags;
    errno = ENOSYS;
    return -1;
}

int posix_fallocate(int file, off_t offset, off_t bytes) {
    if (getenv("SCARCE_SPACE") != NULL) { return ENOSPC; }
    return ftruncate(file, offset + bytes) == 0 ? 0 : errno;
}
