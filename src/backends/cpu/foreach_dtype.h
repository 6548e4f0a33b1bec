/* SPDX-License-Identifier: MIT
 *
 * Includes the file that HT_TEMPLATE names once for every dtype; without the complex ones where
 * HT_REAL_ONLY is defined. */

#define DTYPE HT_BOOL
#include HT_TEMPLATE
#undef DTYPE

#define DTYPE HT_UINT8
#include HT_TEMPLATE
#undef DTYPE

#define DTYPE HT_INT8
#include HT_TEMPLATE
#undef DTYPE

#define DTYPE HT_INT16
#include HT_TEMPLATE
#undef DTYPE

#define DTYPE HT_INT32
#include HT_TEMPLATE
#undef DTYPE

#define DTYPE HT_INT64
#include HT_TEMPLATE
#undef DTYPE

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

#ifndef HT_REAL_ONLY
#define DTYPE HT_COMPLEX64
#include HT_TEMPLATE
#undef DTYPE

#define DTYPE HT_COMPLEX128
#include HT_TEMPLATE
#undef DTYPE
#endif

#undef HT_TEMPLATE
