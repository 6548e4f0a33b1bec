/* ranks 1 own device */
/* SPDX-License-Identifier: MIT
 *
 * The kernels that OpenBLAS runs suit the processor. */
#include "ht_test.h"

#include "config.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/linalg/blas_core.h"

static void older_cores_give_way(void **state)
{
    static const struct {
        const char *core;
        bool avx2, avx512;
        const char *better;
    } rows[] = {
        {"Prescott", true, true, "SkylakeX"},
        {"Prescott", true, false, "Haswell"},
        {"Prescott", false, false, NULL},
        {"Sandybridge", false, false, NULL},
        {"Barcelona", true, false, "Haswell"},
        {"Haswell", true, true, NULL},
        {"Zen", true, true, NULL},
        {"SapphireRapids", true, true, NULL},
        {"a later one", true, true, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *better = ht__blas_core_for(rows[i].core, rows[i].avx2, rows[i].avx512);

        if (rows[i].better == NULL)
            assert_null(better);
        else
            assert_string_equal(better, rows[i].better);
    }
}

/* Unless the user chose it. */
static void the_core_suits_the_processor(void **state)
{
    (void)state;
#if defined(HT_HAVE_OPENBLAS) && defined(__x86_64__)
    if (getenv("OPENBLAS_CORETYPE") == NULL && __builtin_cpu_supports("avx2") &&
        strstr(openblas_get_config(), "DYNAMIC_ARCH") != NULL)
        assert_null(ht__blas_core_for(openblas_get_corename(), true, true));
    else
        skip();
#else
    skip();
#endif
}

HT_TEST_SUITE(test_cpu_blas_core, cmocka_unit_test(older_cores_give_way),
              cmocka_unit_test(the_core_suits_the_processor));
