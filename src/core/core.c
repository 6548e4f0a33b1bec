/* SPDX-License-Identifier: MIT
 *
 * Start and end of what the core itself needs; ht_init and ht_finalize call these. */
#include "core.h"

#include "cpu/cpu.h"

void ht__core_init(void)
{
    ht__cpu_set_threads(ht__compute_threads());
    ht__device_cpu();
}

void ht__core_finalize(void)
{
    ht__scope_thread_end();
    ht__devices_finalize();
}
