/* SPDX-License-Identifier: MIT
 *
 * Inside a template: includes the file that HT_SOURCE_TEMPLATE names once for every dtype that a
 * conversion may come from, as SOURCE. It is a separate file because a file that is included for
 * one DTYPE cannot define DTYPE again. */

#define SOURCE HT_BOOL
#include HT_SOURCE_TEMPLATE
#undef SOURCE

#define SOURCE HT_UINT8
#include HT_SOURCE_TEMPLATE
#undef SOURCE

#define SOURCE HT_INT8
#include HT_SOURCE_TEMPLATE
#undef SOURCE

#define SOURCE HT_INT16
#include HT_SOURCE_TEMPLATE
#undef SOURCE

#define SOURCE HT_INT32
#include HT_SOURCE_TEMPLATE
#undef SOURCE

#define SOURCE HT_INT64
#include HT_SOURCE_TEMPLATE
#undef SOURCE

#define SOURCE HT_FLOAT16
#include HT_SOURCE_TEMPLATE
#undef SOURCE

#define SOURCE HT_BFLOAT16
#include HT_SOURCE_TEMPLATE
#undef SOURCE

#define SOURCE HT_FLOAT32
#include HT_SOURCE_TEMPLATE
#undef SOURCE

#define SOURCE HT_FLOAT64
#include HT_SOURCE_TEMPLATE
#undef SOURCE

#ifndef HT_REAL_ONLY
#define SOURCE HT_COMPLEX64
#include HT_SOURCE_TEMPLATE
#undef SOURCE

#define SOURCE HT_COMPLEX128
#include HT_SOURCE_TEMPLATE
#undef SOURCE
#endif

#undef HT_SOURCE_TEMPLATE
