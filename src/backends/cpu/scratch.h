/* SPDX-License-Identifier: MIT
 *
 * Working memory of kernels. */
#ifndef HT_BACKENDS_CPU_SCRATCH_H
#define HT_BACKENDS_CPU_SCRATCH_H

#include <stddef.h>

/* At least `bytes` of memory of the calling thread, aligned for vectors, its content undefined. It
 * is valid until the next call in the thread, and kept (growing) until the thread ends, so that a
 * training step allocates nothing. NULL, with the error recorded, when there is none left. */
void *ht__cpu_scratch(size_t bytes);

/* `bytes` rounded up so that a part behind it is aligned too. */
static inline size_t ht__cpu_scratch_part(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

#endif
