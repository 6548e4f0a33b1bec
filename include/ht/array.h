/* SPDX-License-Identifier: MIT
 *
 * Tensors from plain C arrays, and plain C arrays from tensors. Elements are in row-major order and
 * in host memory. ht_array (ht/factories.h) and ht_array_from_local make tensors, too.
 *
 *     const float a[2][3] = {{1, 2, 3}, {4, 5, 6}};
 *     double b[6];
 *     ht_tensor *x = HT_ARRAY(a[0], HT_SHAPE(2, 3), 0);
 *
 *     ht_tensor_to_array(x, b, 6, HT_FLOAT64);
 */
#ifndef HT_ARRAY_H
#define HT_ARRAY_H

#include "ht/factories.h"

/* HT_DTYPE_OF(data): The dtype of the elements that data points to; HT_FLOAT32 for float.
 *
 * data: an array, or the address of an element: a for float a[6], a[0] for float a[2][3]. It is not
 *   evaluated. Its elements are bool, uint8_t, signed integers of 8 to 64 bits, float, double, or
 *   complex numbers of these two. Other elements do not compile: name their dtype.
 * Not collective. */

/* HT_ARRAY(data, shape, split): ht_array of data and split with the dtype HT_DTYPE_OF(data).
 *
 * shape: an HT_SHAPE.
 * Logically collective, as ht_array is. */
#define HT_ARRAY(data, shape, split) ht_array((data), shape, HT_DTYPE_OF(data), split)

#if LONG_MAX == INT64_MAX
#define HT_DTYPE_OF_LONG HT_INT64
#else
#define HT_DTYPE_OF_LONG HT_INT32
#endif

#ifdef __cplusplus

/* clang-format off */
inline ht_dtype ht_dtype_of(const bool *) { return HT_BOOL; }
inline ht_dtype ht_dtype_of(const unsigned char *) { return HT_UINT8; }
inline ht_dtype ht_dtype_of(const signed char *) { return HT_INT8; }
inline ht_dtype ht_dtype_of(const short *) { return HT_INT16; }
inline ht_dtype ht_dtype_of(const int *) { return HT_INT32; }
inline ht_dtype ht_dtype_of(const long *) { return HT_DTYPE_OF_LONG; }
inline ht_dtype ht_dtype_of(const long long *) { return HT_INT64; }
inline ht_dtype ht_dtype_of(const float *) { return HT_FLOAT32; }
inline ht_dtype ht_dtype_of(const double *) { return HT_FLOAT64; }
/* clang-format on */

/* A type with real() and imag(), such as std::complex<float>. */
template <typename T> auto ht_dtype_of(const T *x) -> decltype(x->real(), x->imag(), ht_dtype())
{
    static_assert(sizeof(T) == 8 || sizeof(T) == 16, "complex numbers of float or double");
    return sizeof(T) == 8 ? HT_COMPLEX64 : HT_COMPLEX128;
}

#define HT_DTYPE_OF(data) ht_dtype_of(static_cast<decltype(&*(data))>(nullptr))

#else

/* clang-format off */
#ifdef __STDC_NO_COMPLEX__
#define HT_DTYPE_OF_COMPLEX
#else
#define HT_DTYPE_OF_COMPLEX float _Complex: HT_COMPLEX64, double _Complex: HT_COMPLEX128,
#endif

#define HT_DTYPE_OF(data)                                                              \
    _Generic(*(data), HT_DTYPE_OF_COMPLEX _Bool: HT_BOOL, unsigned char: HT_UINT8,     \
        signed char: HT_INT8, short: HT_INT16, int: HT_INT32, long: HT_DTYPE_OF_LONG,  \
        long long: HT_INT64, float: HT_FLOAT32, double: HT_FLOAT64)
/* clang-format on */

#endif

HT_BEGIN_DECLS

/* array[i] = element i of x in row-major order, on every rank.
 *
 * array: the caller's memory, for count elements of dtype: of float for HT_FLOAT32. Unchanged after
 *   an error of the arguments.
 * count: the number of elements of x on all ranks together (ht_tensor_size).
 * dtype: x is converted to it as by ht_astype. HT_DTYPE_OF(array) is that of a C array.
 * Collective if x is split, agrees: one Allgather. Else not collective: one rank alone may read a
 * replicated x. Not differentiable.
 * Errors: HT_ERR_SHAPE for another count. HT_ERR_ARGUMENT if dtype is invalid, or if array is NULL
 * and count is not 0.
 * Source: heat.DNDarray.numpy. */
HT_API ht_status ht_tensor_to_array(ht_tensor *x, void *array, int64_t count, ht_dtype dtype);

/* ht_tensor_to_array of x, array, count and dtype on one rank, which alone needs memory.
 *
 * rank: the rank of the communicator of x that receives, the same on all ranks. HT_NONE: every
 *   rank. The others do not use array and count; their array may be NULL.
 * Collective if x is split, agrees: one exchange. Else not collective. Not differentiable.
 * Errors: also HT_ERR_ARGUMENT for another rank, or if ranks differ in it. */
HT_API ht_status ht_tensor_to_array_ext(ht_tensor *x, void *array, int64_t count, ht_dtype dtype,
                                        int rank);

HT_END_DECLS
#endif
