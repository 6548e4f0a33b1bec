/* SPDX-License-Identifier: MIT
 *
 * The types and names of each dtype that templates (*.inc.c) are written in, for a compiler that
 * has the types ht_complex64 and ht_complex128: dtypes.h defines them for C. */
#ifndef HT_BACKENDS_CPU_DTYPE_NAMES_H
#define HT_BACKENDS_CPU_DTYPE_NAMES_H

#include <stdint.h>

#include "core/base/half.h"

#define HT_KIND_BOOL    0
#define HT_KIND_INTEGER 1
#define HT_KIND_HALF    2
#define HT_KIND_FLOAT   3
#define HT_KIND_COMPLEX 4

#define HT_KIND_OF_HT_BOOL       HT_KIND_BOOL
#define HT_KIND_OF_HT_UINT8      HT_KIND_INTEGER
#define HT_KIND_OF_HT_INT8       HT_KIND_INTEGER
#define HT_KIND_OF_HT_INT16      HT_KIND_INTEGER
#define HT_KIND_OF_HT_INT32      HT_KIND_INTEGER
#define HT_KIND_OF_HT_INT64      HT_KIND_INTEGER
#define HT_KIND_OF_HT_FLOAT16    HT_KIND_HALF
#define HT_KIND_OF_HT_BFLOAT16   HT_KIND_HALF
#define HT_KIND_OF_HT_FLOAT32    HT_KIND_FLOAT
#define HT_KIND_OF_HT_FLOAT64    HT_KIND_FLOAT
#define HT_KIND_OF_HT_COMPLEX64  HT_KIND_COMPLEX
#define HT_KIND_OF_HT_COMPLEX128 HT_KIND_COMPLEX

/* storage: an element in memory. compute: what arithmetic is done in. wrap: the same, but a type in
 * which sums and products of integers may wrap around. sum: the accumulator of sums. total: what a
 * sum is stored as. */
typedef uint8_t storage_HT_BOOL, compute_HT_BOOL, wrap_HT_BOOL;
typedef uint8_t storage_HT_UINT8, compute_HT_UINT8, wrap_HT_UINT8;
typedef int8_t storage_HT_INT8, compute_HT_INT8, wrap_HT_INT8;
typedef int16_t storage_HT_INT16, compute_HT_INT16, wrap_HT_INT16;
typedef int32_t storage_HT_INT32, compute_HT_INT32;
typedef uint32_t wrap_HT_INT32;
typedef int64_t storage_HT_INT64, compute_HT_INT64;
typedef uint64_t wrap_HT_INT64;
typedef uint16_t storage_HT_FLOAT16, storage_HT_BFLOAT16;
typedef float compute_HT_FLOAT16, compute_HT_BFLOAT16, wrap_HT_FLOAT16, wrap_HT_BFLOAT16;
typedef float storage_HT_FLOAT32, compute_HT_FLOAT32, wrap_HT_FLOAT32;
typedef double storage_HT_FLOAT64, compute_HT_FLOAT64, wrap_HT_FLOAT64;
typedef ht_complex64 storage_HT_COMPLEX64, compute_HT_COMPLEX64, wrap_HT_COMPLEX64;
typedef ht_complex128 storage_HT_COMPLEX128, compute_HT_COMPLEX128, wrap_HT_COMPLEX128;

/* param: the type of a kernel's parameters (ht_loop.param) in computations: double for integers,
 * real for complex numbers. */
typedef double param_HT_BOOL, param_HT_UINT8, param_HT_INT8, param_HT_INT16, param_HT_INT32,
    param_HT_INT64, param_HT_FLOAT64, param_HT_COMPLEX128;
typedef float param_HT_FLOAT16, param_HT_BFLOAT16, param_HT_FLOAT32, param_HT_COMPLEX64;

/* real: of the parts of a complex number. */
typedef float real_HT_COMPLEX64;
typedef double real_HT_COMPLEX128;

/* key: an integer that grows as its number does, with -0 below 0 (reduce/extreme.inc.c). */
typedef int16_t key_HT_FLOAT16, key_HT_BFLOAT16;
typedef int32_t key_HT_FLOAT32;
typedef int64_t key_HT_FLOAT64;

#define INFINITE_HT_FLOAT16  ((int16_t)0x7c00)
#define INFINITE_HT_BFLOAT16 ((int16_t)0x7f80)
#define INFINITE_HT_FLOAT32  0x7f800000
#define INFINITE_HT_FLOAT64  0x7ff0000000000000

typedef uint64_t sum_HT_BOOL, sum_HT_UINT8, sum_HT_INT8, sum_HT_INT16, sum_HT_INT32, sum_HT_INT64;
typedef double sum_HT_FLOAT16, sum_HT_BFLOAT16, sum_HT_FLOAT32, sum_HT_FLOAT64;
typedef ht_complex128 sum_HT_COMPLEX64, sum_HT_COMPLEX128;

typedef int64_t total_HT_BOOL, total_HT_UINT8, total_HT_INT8, total_HT_INT16, total_HT_INT32,
    total_HT_INT64;
typedef uint16_t total_HT_FLOAT16, total_HT_BFLOAT16;
typedef float total_HT_FLOAT32;
typedef double total_HT_FLOAT64;
typedef ht_complex64 total_HT_COMPLEX64;
typedef ht_complex128 total_HT_COMPLEX128;

/* wide: a sum that is still to be added to others, or divided. mean: what a mean is stored as. */
typedef double wide_HT_BOOL, wide_HT_UINT8, wide_HT_INT8, wide_HT_INT16, wide_HT_INT32,
    wide_HT_INT64, wide_HT_FLOAT16, wide_HT_BFLOAT16, wide_HT_FLOAT32, wide_HT_FLOAT64;
typedef ht_complex128 wide_HT_COMPLEX64, wide_HT_COMPLEX128;

typedef float mean_HT_BOOL, mean_HT_UINT8, mean_HT_INT8, mean_HT_INT16, mean_HT_INT32,
    mean_HT_INT64, mean_HT_FLOAT32;
typedef uint16_t mean_HT_FLOAT16, mean_HT_BFLOAT16;
typedef double mean_HT_FLOAT64;
typedef ht_complex64 mean_HT_COMPLEX64;
typedef ht_complex128 mean_HT_COMPLEX128;

#define MEAN_HT_BOOL       STORE_HT_FLOAT32
#define MEAN_HT_UINT8      STORE_HT_FLOAT32
#define MEAN_HT_INT8       STORE_HT_FLOAT32
#define MEAN_HT_INT16      STORE_HT_FLOAT32
#define MEAN_HT_INT32      STORE_HT_FLOAT32
#define MEAN_HT_INT64      STORE_HT_FLOAT32
#define MEAN_HT_FLOAT16    TOTAL_HT_FLOAT16
#define MEAN_HT_BFLOAT16   TOTAL_HT_BFLOAT16
#define MEAN_HT_FLOAT32    STORE_HT_FLOAT32
#define MEAN_HT_FLOAT64    STORE_HT_FLOAT64
#define MEAN_HT_COMPLEX64  STORE_HT_COMPLEX64
#define MEAN_HT_COMPLEX128 STORE_HT_COMPLEX128

#define HT_TOTAL_INTEGER(x)  ((int64_t)(x))
#define TOTAL_HT_BOOL        HT_TOTAL_INTEGER
#define TOTAL_HT_UINT8       HT_TOTAL_INTEGER
#define TOTAL_HT_INT8        HT_TOTAL_INTEGER
#define TOTAL_HT_INT16       HT_TOTAL_INTEGER
#define TOTAL_HT_INT32       HT_TOTAL_INTEGER
#define TOTAL_HT_INT64       HT_TOTAL_INTEGER
#define TOTAL_HT_FLOAT16(x)  ht__float_to_float16(ht__double_to_odd_float(x))
#define TOTAL_HT_BFLOAT16(x) ht__float_to_bfloat16(ht__double_to_odd_float(x))
#define TOTAL_HT_FLOAT32     STORE_HT_FLOAT32
#define TOTAL_HT_FLOAT64     STORE_HT_FLOAT64
#define TOTAL_HT_COMPLEX64   STORE_HT_COMPLEX64
#define TOTAL_HT_COMPLEX128  STORE_HT_COMPLEX128

#define LOAD_HT_BOOL(x)       ((uint8_t)((x) != 0))
#define LOAD_HT_UINT8(x)      (x)
#define LOAD_HT_INT8(x)       (x)
#define LOAD_HT_INT16(x)      (x)
#define LOAD_HT_INT32(x)      (x)
#define LOAD_HT_INT64(x)      (x)
#define LOAD_HT_FLOAT16(x)    ht__float16_to_float(x)
#define LOAD_HT_BFLOAT16(x)   ht__bfloat16_to_float(x)
#define LOAD_HT_FLOAT32(x)    (x)
#define LOAD_HT_FLOAT64(x)    (x)
#define LOAD_HT_COMPLEX64(x)  (x)
#define LOAD_HT_COMPLEX128(x) (x)

#define STORE_HT_BOOL(x)       ((uint8_t)((x) != 0))
#define STORE_HT_UINT8(x)      ((uint8_t)(x))
#define STORE_HT_INT8(x)       ((int8_t)(x))
#define STORE_HT_INT16(x)      ((int16_t)(x))
#define STORE_HT_INT32(x)      ((int32_t)(x))
#define STORE_HT_INT64(x)      ((int64_t)(x))
#define STORE_HT_FLOAT16(x)    ht__float_to_float16((float)(x))
#define STORE_HT_BFLOAT16(x)   ht__float_to_bfloat16((float)(x))
#define STORE_HT_FLOAT32(x)    ((float)(x))
#define STORE_HT_FLOAT64(x)    ((double)(x))
#define STORE_HT_COMPLEX64(x)  ((ht_complex64)(x))
#define STORE_HT_COMPLEX128(x) ((ht_complex128)(x))

#define HT_JOIN_(a, b) a##b
#define HT_JOIN(a, b)  HT_JOIN_(a, b)

/* The names that templates use; DTYPE is set by foreach_dtype.h. */
#define ID           DTYPE
#define T            HT_JOIN(storage_, DTYPE)
#define C            HT_JOIN(compute_, DTYPE)
#define WRAP         HT_JOIN(wrap_, DTYPE)
#define PARAM        HT_JOIN(param_, DTYPE)
#define SUM          HT_JOIN(sum_, DTYPE)
#define TOTAL        HT_JOIN(total_, DTYPE)
#define TO_TOTAL     HT_JOIN(TOTAL_, DTYPE)
#define HT_REAL_TYPE HT_JOIN(real_, DTYPE)
#define KEY          HT_JOIN(key_, DTYPE)
#define WIDE         HT_JOIN(wide_, DTYPE)
#define MEAN         HT_JOIN(mean_, DTYPE)
#define TO_MEAN      HT_JOIN(MEAN_, DTYPE)
#define LOAD         HT_JOIN(LOAD_, DTYPE)
#define STORE        HT_JOIN(STORE_, DTYPE)
#define NAME(x)      HT_JOIN(HT_JOIN(x, _), DTYPE)

#define HT_KIND       HT_JOIN(HT_KIND_OF_, DTYPE)
#define HT_IS_BOOL    (HT_KIND == HT_KIND_BOOL)
#define HT_IS_INTEGER (HT_KIND == HT_KIND_INTEGER)
#define HT_IS_HALF    (HT_KIND == HT_KIND_HALF)
#define HT_IS_FLOAT   (HT_KIND == HT_KIND_HALF || HT_KIND == HT_KIND_FLOAT)
#define HT_IS_COMPLEX (HT_KIND == HT_KIND_COMPLEX)

#define HT_FLOATING_LIST(X) X(HT_FLOAT16) X(HT_BFLOAT16) X(HT_FLOAT32) X(HT_FLOAT64)

#endif
