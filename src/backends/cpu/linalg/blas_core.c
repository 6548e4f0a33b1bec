/* SPDX-License-Identifier: MIT
 *
 * OpenBLAS chooses its kernels when it is loaded. A processor that is newer than its release gets
 * those of an old one, without AVX: 0.3.21 multiplies at a sixth of the speed on a Xeon of 2023.
 * Its variable OPENBLAS_CORETYPE names a better core, and it chooses again when it is told to. */
#include "config.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/linalg/blas_core.h"
#include "core/base/environment.h"

const char *ht__blas_core_for(const char *core, bool avx2, bool avx512)
{
    /* Those that OpenBLAS falls back to, and others from before AVX2. */
    static const char *const old[] = {"Prescott", "Core2",     "Penryn",       "Dunnington",
                                      "Nehalem",  "Atom",      "Sandybridge",  "Athlon",
                                      "Opteron",  "Barcelona", "Opteron_SSE3", "Bobcat"};

    if (!avx2)
        return NULL;
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        if (strcmp(core, old[i]) == 0)
            return avx512 ? "SkylakeX" : "Haswell";
    }
    return NULL;
}

#if defined(HT_HAVE_OPENBLAS) && defined(__x86_64__)

/* Not in its header. A library for one core alone has none of them. */
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));

static const char *better_core(void)
{
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");

    return ht__blas_core_for(openblas_get_corename(), avx2, avx512);
}

const char *ht__cpu_choose_blas_core(void)
{
    const char *variable = ht__env_name(HT_ENV_OPENBLAS_CORETYPE), *core;

    if (gotoblas_dynamic_init == NULL || gotoblas_dynamic_quit == NULL ||
        ht__env_text(HT_ENV_OPENBLAS_CORETYPE) != NULL)
        return NULL;
    core = better_core();
    if (core == NULL || setenv(variable, core, 1) != 0)
        return NULL;
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
    unsetenv(variable);
    return core;
}

#else

const char *ht__cpu_choose_blas_core(void)
{
    return NULL;
}

#endif
