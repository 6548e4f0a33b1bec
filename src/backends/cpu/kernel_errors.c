/* SPDX-License-Identifier: MIT
 *
 * Errors that a kernel can find. They have a separate file because kernels see neither the core nor
 * its header. */
#include <inttypes.h>

#include "core/base/base.h"
#include "backends/cpu/kernels.h"

int ht__kernel_bad_dtype(const char *what, ht_dtype dtype)
{
    return (int)ht__error_set(HT_ERR_DTYPE,
                              "%s: dtype is %s, expected one with a kernel on the cpu", what,
                              ht_dtype_name(dtype));
}

int ht__kernel_bad_target(int64_t row, int64_t target, int64_t columns)
{
    return (int)ht__error_set(
        HT_ERR_ARGUMENT, "target %" PRId64 " of row %" PRId64 " is outside the %" PRId64 " classes",
        target, row, columns);
}
