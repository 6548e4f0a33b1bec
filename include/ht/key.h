/* SPDX-License-Identifier: MIT
 *
 * Keys, which select a part of a tensor, in C and in C++. A key is valid in the call that it is an
 * argument of:
 *
 *     x[3]               HT_KEY(3)
 *     x[1:5, ::-1]       HT_KEY(ht_slice(1, 5), ht_slice_step(HT_OPEN, HT_OPEN, -1))
 *     x[:, :3]           HT_KEY(HT_ALL, ht_slice(HT_OPEN, 3))
 *
 * Other axes, tensors of indices and masks:
 *
 *     x[..., None, -1]   HT_KEY(HT_ELLIPSIS, HT_NEWAXIS, -1)
 *     x[rows, 2]         HT_KEY(rows, 2)
 *     x[x > 0]           HT_KEY(ht_gt(x, ht_scalar(0)))
 *
 * Items mean the same as in NumPy. An item is an integer, a tensor of integers, a mask (a tensor of
 * bool) or one of the items shown above. A mask without axes, as in x[True], is refused. HT_KEY
 * takes 1 to 12 items and makes two arguments: int count, const ht_index key[]. More items, or an
 * item of another type, do not compile.
 *
 * No function here is collective or fails: the call that takes the key checks it. */
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

/* An item of a key. */
typedef struct ht_index {
    ht_index_kind kind;
    int64_t start, stop, step; /* of a slice; start also has the value of an integer */
    ht_tensor *tensor;         /* of a tensor item; borrowed */
} ht_index;

/* HT_KEY(...): The two arguments int count, const ht_index key[] of a key.
 *
 * The arguments are 1 to 12 items: integers, tensors of integers, masks, slices, HT_ALL,
 * HT_ELLIPSIS and HT_NEWAXIS. Another item does not compile.
 * Result: valid in the call that it is an argument of. Tensors in it are borrowed. */

/* An end of a slice that is left open, as both are in x[:]. */
#define HT_OPEN INT64_MIN

/* Returns the slice of every step-th element from start to stop; stop itself is not part of it.
 *
 * start, stop: negative ones count from the end of the axis; ends beyond the axis are moved to its
 *   end. HT_OPEN leaves an end open.
 * step: not 0; a negative step goes down from start to stop. */
static inline ht_index ht_slice_step(int64_t start, int64_t stop, int64_t step)
{
    const ht_index item = {HT_INDEX_SLICE, start, stop, step, NULL};
    return item;
}

/* Returns the slice of the elements from start to stop, without stop: ht_slice_step by 1. */
static inline ht_index ht_slice(int64_t start, int64_t stop)
{
    return ht_slice_step(start, stop, 1);
}

/* Returns an item that has a kind alone: HT_INDEX_ELLIPSIS or HT_INDEX_NEWAXIS. */
static inline ht_index ht_index_plain(ht_index_kind kind)
{
    const ht_index item = {kind, 0, 0, 1, NULL};
    return item;
}

/* Returns the item of the index at; HT_KEY makes it of an integer. */
static inline ht_index ht_index_integer(long long at)
{
    const ht_index item = {HT_INDEX_INTEGER, at, 0, 1, NULL};
    return item;
}

/* Returns the item of a tensor of indices or a mask; HT_KEY makes it. tensor is borrowed. */
static inline ht_index ht_index_tensor(ht_tensor *tensor)
{
    const ht_index item = {HT_INDEX_TENSOR, 0, 0, 1, tensor};
    return item;
}

/* Returns item itself; HT_KEY uses it. */
static inline ht_index ht_index_item(ht_index item)
{
    return item;
}

#define HT_ALL      ht_slice(HT_OPEN, HT_OPEN)        /* all elements of an axis */
#define HT_ELLIPSIS ht_index_plain(HT_INDEX_ELLIPSIS) /* HT_ALL for each axis without an item */
#define HT_NEWAXIS  ht_index_plain(HT_INDEX_NEWAXIS)  /* adds an axis of length 1 to the result */

#define HT_KEY_TOO_LONG   "HT_KEY takes 1 to 12 items"
#define HT_KEY_WRONG_ITEM "an item of HT_KEY is an integer, a tensor or an ht_index"

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

template <typename T>
typename std::enable_if<std::is_floating_point<T>::value, ht_index>::type ht_index_from(T)
{
    static_assert(!std::is_floating_point<T>::value, HT_KEY_WRONG_ITEM);
    return ht_index_integer(0);
}

template <typename... Ts> ht_list_of<ht_index, sizeof...(Ts)> ht_key_from(Ts... items)
{
    static_assert(sizeof...(Ts) <= 12, HT_KEY_TOO_LONG);
    return {{ht_index_from(items)...}};
}

#define HT_KEY(...) \
    static_cast<int>(sizeof(ht_count_of(__VA_ARGS__)) - 1), ht_key_from(__VA_ARGS__).begin()

#else

static inline ht_index ht_index_checked(size_t one, ht_index item)
{
    (void)one;
    return item;
}

/* clang-format off */
/* Chooses by the type of item; `integer` for all integer types, `other` for types outside keys. */
#define HT_INDEX_CASE(item, index, tensor, integer, other)                                    \
    _Generic((item), ht_index: index, ht_tensor *: tensor, _Bool: integer, char: integer,     \
    signed char: integer, unsigned char: integer, short: integer, unsigned short: integer,    \
    int: integer, unsigned: integer, long: integer, unsigned long: integer,                   \
    long long: integer, unsigned long long: integer, default: other)
/* 1 if the condition is true; otherwise it does not compile, and the error has this text. */
#define HT_KEY_ASSERT(condition, text)                                                        \
    (sizeof(struct { _Static_assert(condition, text); char one; }))
/* The item of a key. The assertion refuses a double, which would lose its fraction in silence. */
#define HT_INDEX(item)                                                                        \
    ht_index_checked(HT_KEY_ASSERT(HT_INDEX_CASE(item, 1, 1, 1, 0), HT_KEY_WRONG_ITEM),       \
    HT_INDEX_CASE(item, ht_index_item, ht_index_tensor, ht_index_integer,                     \
    ht_index_integer)(item))

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
#define HT_KEY_MORE(...)                                                                      \
    ht_index_integer((long long)HT_KEY_ASSERT(0, HT_KEY_TOO_LONG))
#define HT_KEY_FORM(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, form, ...) form
#define HT_KEY(...) HT_LIST(ht_index, HT_KEY_FORM(__VA_ARGS__, HT_KEY_MORE, HT_KEY_MORE,      \
    HT_KEY_MORE, HT_KEY_MORE, HT_KEY_MORE, HT_KEY_MORE, HT_KEY_MORE, HT_KEY_MORE,             \
    HT_KEY_12, HT_KEY_11,                                                                     \
    HT_KEY_10, HT_KEY_9, HT_KEY_8, HT_KEY_7, HT_KEY_6, HT_KEY_5, HT_KEY_4, HT_KEY_3,          \
    HT_KEY_2, HT_KEY_1, 0)(__VA_ARGS__))
/* clang-format on */

#endif
#endif
