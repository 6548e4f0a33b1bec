/* SPDX-License-Identifier: MIT
 *
 * All kernels of one SIMD level. kernels_<level>.c defines HT_LEVEL and includes this file; the
 * flags of the level come from local.mk. */
#include <string.h>

#include "core/cpu/dtypes.h"
#include "core/cpu/kernels.h"
#include "core/cpu/random_walk.h"
#include "core/cpu/reduce_plan.h"
#include "core/cpu/row_walk.h"

#define HT_LEVEL_NAME(x) HT_JOIN(HT_JOIN(x, _), HT_LEVEL)

#define HT_TEMPLATE "core/cpu/unary.inc.c"
#include "core/cpu/foreach_dtype.h"

#define HT_TEMPLATE "core/cpu/binary.inc.c"
#include "core/cpu/foreach_dtype.h"

#define HT_TEMPLATE "core/cpu/convert.inc.c"
#include "core/cpu/foreach_dtype.h"

#define HT_TEMPLATE "core/cpu/reduce.inc.c"
#include "core/cpu/foreach_dtype.h"

#define HT_TEMPLATE "core/cpu/cumulative.inc.c"
#include "core/cpu/foreach_dtype.h"

#define HT_TEMPLATE "core/cpu/random.inc.c"
#include "core/cpu/foreach_dtype.h"
#include "core/cpu/random_dispatch.inc.c"

#define HT_TEMPLATE "core/cpu/update.inc.c"
#include "core/cpu/foreach_dtype.h"
#include "core/cpu/update_dispatch.inc.c"

#define HT_TEMPLATE "core/cpu/rows.inc.c"
#include "core/cpu/foreach_dtype.h"
#include "core/cpu/rows_dispatch.inc.c"

#define HT_TEMPLATE "core/cpu/dropout.inc.c"
#include "core/cpu/foreach_dtype.h"
#include "core/cpu/dropout_dispatch.inc.c"

#define FILL(dtype, name, bytes) \
    fill_unary_##dtype(k);       \
    fill_binary_##dtype(k);      \
    fill_convert_##dtype(k);     \
    fill_reduce_##dtype(k);      \
    fill_cumulative_##dtype(k);

void HT_LEVEL_NAME(ht__kernels_fill)(ht_kernels *k)
{
    HT_DTYPE_LIST(FILL)
    fill_random(k);
    fill_update(k);
    fill_rows(k);
    fill_dropout(k);
}
