/* SPDX-License-Identifier: MIT
 *
 * Keys, which say what of a tensor is meant, for the call that they stand in, in C and in C++:
 *
 *     x[3]               HT_KEY(3)
 *     x[1:5, ::-1]       HT_KEY(ht_slice(1, 5), ht_slice_step(HT_OPEN, HT_OPEN, -1))
 *     x[..., None, -1]   HT_KEY(HT_ELLIPSIS, HT_NEWAXIS, -1)
 *     x[:, :3]           HT_KEY(HT_ALL, ht_slice(HT_OPEN, 3))
 *     x[rows, 2]         HT_KEY(rows, 2)
 *     x[x > 0]           HT_KEY(ht_gt(x, ht_scalar(0)))
 *
 * Each item is an integer, a tensor of integers or a mask (a tensor of bool), or one of these; they
 * mean what they mean in NumPy. HT_KEY is two arguments, int count, const ht_index key[], and takes
 * 1 to 12 items. */
#ifndef HT_KEY_H
#define HT_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "ht/shape.h"
#include "ht/types.h"

typedef enum ht_index_kind {
    HT_INDEX_INTEGER,
    HT_INDEX_SLICE,
    HT_INDEX_ELLIPSIS,
    HT_INDEX_NEWAXIS,
    HT_INDEX_TENSOR
} ht_index_kind;

/* An item of a key. start: the integer, too. */
typedef struct ht_index {
    ht_index_kind kind;
    int64_t start, stop, step;
    ht_tensor *tensor; /* borrowed */
} ht_index;

/* The end of a slice that is left open, as both are in x[:]. */
#define HT_OPEN INT64_MIN

/* Every step-th element from start up to stop, without that; step < 0: down to it. Negative ends
 * count from the end of the axis; what lies beyond it is cut off. */
static inline ht_index ht_slice_step(int64_t start, int64_t stop, int64_t step)
{
    const ht_index item = {HT_INDEX_SLICE, start, stop, step, NULL};
    return item;
}

static inline ht_index ht_slice(int64_t start, int64_t stop)
{
    return ht_slice_step(start, stop, 1);
}

static inline ht_index ht_index_plain(ht_index_kind kind)
{
    const ht_index item = {kind, 0, 0, 1, NULL};
    return item;
}

static inline ht_index ht_index_integer(long long at)
{
    const ht_index item = {HT_INDEX_INTEGER, at, 0, 1, NULL};
    return item;
}

static inline ht_index ht_index_tensor(ht_tensor *tensor)
{
    const ht_index item = {HT_INDEX_TENSOR, 0, 0, 1, tensor};
    return item;
}

static inline ht_index ht_index_item(ht_index item)
{
    return item;
}

#define HT_ALL      ht_slice(HT_OPEN, HT_OPEN)
#define HT_ELLIPSIS ht_index_plain(HT_INDEX_ELLIPSIS) /* as many HT_ALL as there are axes left */
#define HT_NEWAXIS  ht_index_plain(HT_INDEX_NEWAXIS)  /* an axis of length 1 more in the result */

#ifdef __cplusplus
#include <type_traits>

inline ht_index ht_index_from(ht_index item)
{
    return item;
}

inline ht_index ht_index_from(ht_tensor *tensor)
{
    return ht_index_tensor(tensor);
}

template <typename T>
typename std::enable_if<std::is_integral<T>::value, ht_index>::type ht_index_from(T at)
{
    return ht_index_integer(static_cast<long long>(at));
}

template <typename... Ts> ht_list_of<ht_index, sizeof...(Ts)> ht_key_from(Ts... items)
{
    return {{ht_index_from(items)...}};
}

#define HT_KEY(...) \
    static_cast<int>(sizeof(ht_count_of(__VA_ARGS__)) - 1), ht_key_from(__VA_ARGS__).begin()

#else

/* clang-format off */
/* Tensors and integers of any type, and nothing else: a double would be cut in silence. */
#define HT_INDEX(item) _Generic((item), ht_index: ht_index_item, ht_tensor *: ht_index_tensor, \
    _Bool: ht_index_integer, char: ht_index_integer, signed char: ht_index_integer,           \
    unsigned char: ht_index_integer, short: ht_index_integer,                                 \
    unsigned short: ht_index_integer, int: ht_index_integer, unsigned: ht_index_integer,      \
    long: ht_index_integer, unsigned long: ht_index_integer, long long: ht_index_integer,     \
    unsigned long long: ht_index_integer)(item)

#define HT_KEY_1(a)       HT_INDEX(a)
#define HT_KEY_2(a, ...)  HT_INDEX(a), HT_KEY_1(__VA_ARGS__)
#define HT_KEY_3(a, ...)  HT_INDEX(a), HT_KEY_2(__VA_ARGS__)
#define HT_KEY_4(a, ...)  HT_INDEX(a), HT_KEY_3(__VA_ARGS__)
#define HT_KEY_5(a, ...)  HT_INDEX(a), HT_KEY_4(__VA_ARGS__)
#define HT_KEY_6(a, ...)  HT_INDEX(a), HT_KEY_5(__VA_ARGS__)
#define HT_KEY_7(a, ...)  HT_INDEX(a), HT_KEY_6(__VA_ARGS__)
#define HT_KEY_8(a, ...)  HT_INDEX(a), HT_KEY_7(__VA_ARGS__)
#define HT_KEY_9(a, ...)  HT_INDEX(a), HT_KEY_8(__VA_ARGS__)
#define HT_KEY_10(a, ...) HT_INDEX(a), HT_KEY_9(__VA_ARGS__)
#define HT_KEY_11(a, ...) HT_INDEX(a), HT_KEY_10(__VA_ARGS__)
#define HT_KEY_12(a, ...) HT_INDEX(a), HT_KEY_11(__VA_ARGS__)
#define HT_KEY_FORM(a, b, c, d, e, f, g, h, i, j, k, l, form, ...) form
#define HT_KEY(...) HT_LIST(ht_index, HT_KEY_FORM(__VA_ARGS__, HT_KEY_12, HT_KEY_11,          \
    HT_KEY_10, HT_KEY_9, HT_KEY_8, HT_KEY_7, HT_KEY_6, HT_KEY_5, HT_KEY_4, HT_KEY_3,          \
    HT_KEY_2, HT_KEY_1, 0)(__VA_ARGS__))
/* clang-format on */

#endif
#endif
