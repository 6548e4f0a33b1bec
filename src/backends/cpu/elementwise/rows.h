/* SPDX-License-Identifier: MIT
 *
 * Elementwise functions of a topic, for every dtype. The topic's file names the template that lists
 * them:
 *     #define HT_TEMPLATE "backends/cpu/elementwise/arithmetics.inc.c"
 *     #include "backends/cpu/foreach_dtype.h"
 *     HT_FILL_ROWS(arithmetics)
 * The template ends with HT_ROWS_TEMPLATE, which makes the kernels: rows.inc.c here, another one for
 * another kind of device. */
#ifndef HT_BACKENDS_CPU_ELEMENTWISE_ROWS_H
#define HT_BACKENDS_CPU_ELEMENTWISE_ROWS_H

#include "backends/cpu/level.h"
#include "backends/cpu/row_walk.h"
#include "ht/kernels/elementwise.h"

#define HT_ROWS_TEMPLATE "backends/cpu/elementwise/rows.inc.c"

#define HT_FILL_ROWS(topic)                                   \
    void HT_LEVEL_NAME(ht__fill_##topic)(ht_kernel_table * k) \
    {                                                         \
        HT_DTYPE_LIST(HT_FILL_ROWS_OF)                        \
    }
#define HT_FILL_ROWS_OF(dtype, name, bytes) fill_rows_##dtype(k);

#endif
