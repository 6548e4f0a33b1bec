/* SPDX-License-Identifier: MIT
 *
 * Start and end of the core; ht_init and ht_finalize call these. */
#include "core/autograd/autograd.h"
#include "core/start/start.h"

#include "backends/cpu/cpu.h"
#include "core/base/environment.h"

/* Rank 0 alone reports a missing kernel of a device, since all ranks do the same. */
static void share_fallback(void)
{
    int64_t is_error = ht__env_choice(HT_ENV_HT_FALLBACK) == 0;

    ht__comm_bcast_bytes(HT_COMM_WORLD, &is_error, sizeof is_error, 0, "ht_init");
    ht__fallback_is_error = is_error != 0;
}

void ht__core_init(void)
{
    share_fallback();
    ht__cpu_set_threads(ht__process.threads);
    ht__device_cpu();
    ht__autograd_start();
}

void ht__core_finalize(void)
{
    ht__scope_thread_end();
    ht__devices_finalize();
}

#ifdef __SANITIZE_ADDRESS__
/* A leak found at exit can only be distinguished from Open MPI's own while its modules are mapped.
 * Without them a stack has no names, unless each malloc is unwound by tables, which takes as long
 * as the rest of a short job. */
HT_API int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
#endif
