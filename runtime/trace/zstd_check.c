/* Whether the archive of zstd can be part of a shared library. */
#include <zstd.h>

int check(void);
int check(void) { return ZSTD_compress(0, 0, 0, 0, 1) + ZSTD_decompress(0, 0, 0, 0) > 0; }
