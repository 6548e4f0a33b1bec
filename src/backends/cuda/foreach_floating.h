/* SPDX-License-Identifier: MIT
 *
 * Includes the file that HT_TEMPLATE names once for every floating dtype. */

#define DTYPE HT_FLOAT16
#include HT_TEMPLATE
#undef DTYPE

#define DTYPE HT_BFLOAT16
#include HT_TEMPLATE
#undef DTYPE

#define DTYPE HT_FLOAT32
#include HT_TEMPLATE
#undef DTYPE

#define DTYPE HT_FLOAT64
#include HT_TEMPLATE
#undef DTYPE

#undef HT_TEMPLATE
