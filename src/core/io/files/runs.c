/* SPDX-License-Identifier: MIT
 *
 * Plain files. The system reads and writes up to 2 GiB in a call, and may do less. */
#include "core/io/files/runs.h"

#include <errno.h>
#include <unistd.h>

enum { MOST = 1 << 30 };

int ht__read_at(int file, void *memory, int64_t bytes, int64_t offset)
{
    char *to = memory;

    while (bytes > 0) {
        ssize_t n = pread(file, to, (size_t)(bytes < MOST ? bytes : MOST), (off_t)offset);

        if (n == 0)
            return -1;
        if (n < 0 && errno != EINTR)
            return errno;
        n = n < 0 ? 0 : n;
        to += n;
        bytes -= n;
        offset += n;
    }
    return 0;
}

int ht__write_at(int file, const void *memory, int64_t bytes, int64_t offset)
{
    const char *from = memory;

    while (bytes > 0) {
        ssize_t n = pwrite(file, from, (size_t)(bytes < MOST ? bytes : MOST), (off_t)offset);

        if (n < 0 && errno != EINTR)
            return errno;
        n = n < 0 ? 0 : n;
        from += n;
        bytes -= n;
        offset += n;
    }
    return 0;
}

ht_runs ht__runs_of(const ht_slab *slab, const int64_t shape[], int64_t element)
{
    ht_runs runs = {.count = 1, .bytes = element, .axis = slab->ndim - 1, .slab = *slab};
    int64_t step = element;

    for (int i = slab->ndim - 1; i >= 0; i--) {
        runs.stride[i] = step;
        step *= shape[i];
        if (slab->count[i] == 0)
            runs.count = 0;
    }
    while (runs.axis > 0 && slab->count[runs.axis] == shape[runs.axis])
        runs.bytes *= slab->count[runs.axis--];
    if (runs.axis >= 0)
        runs.bytes *= slab->count[runs.axis];
    for (int i = 0; i < runs.axis; i++)
        runs.count *= slab->count[i];
    return runs;
}

int64_t ht__run_at(const ht_runs *runs, int64_t index)
{
    int64_t at = 0;

    for (int i = 0; i < runs->slab.ndim; i++)
        at += runs->slab.start[i] * runs->stride[i];
    for (int i = runs->axis - 1; i >= 0; i--) {
        at += index % runs->slab.count[i] * runs->stride[i];
        index /= runs->slab.count[i];
    }
    return at;
}
