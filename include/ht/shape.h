/* SPDX-License-Identifier: MIT
 *
 * Lists as arguments, in C and in C++. A list is valid in the call that it is an argument of. It
 * makes two arguments, the count and the address, shown on the right. Not collective.
 *
 * A shape:
 *     ht_ones(HT_SHAPE(100, 1), HT_FLOAT32, 0)             int ndim, const int64_t shape[]
 * Axes:
 *     ht_permute(x, HT_AXES(1, 0))                         int count, const int axes[]
 * Any type:
 *     ht_nn_sequential(HT_LIST(ht_module *, conv, relu))   int count, ht_module *const modules[]
 *
 * The shape of a tensor without axes is 0, NULL, or HT_SHAPE(). */
#ifndef HT_SHAPE_H
#define HT_SHAPE_H

#include <stdint.h>

/* HT_LIST(type, ...): The two arguments int count, const type items[] of a list.
 *
 * type: of the items, at least one.
 * Result: valid in the call that it is an argument of. */

/* HT_SHAPE(...): The two arguments int ndim, const int64_t shape[] of a shape.
 *
 * The arguments are the lengths, of any integer types. HT_SHAPE() is the shape of a tensor without
 * axes.
 * Result: valid in the call that it is an argument of. */

/* HT_AXES(...): The two arguments int count, const int axes[] of a list of axes.
 *
 * The arguments are the axes, of any integer types.
 * Result: valid in the call that it is an argument of. */

#ifdef __cplusplus
#include <initializer_list>

/* sizeof of its result is the number of arguments plus 1; it is not evaluated. */
template <typename... T> char (&ht_count_of(T...))[sizeof...(T) + 1];

/* A list of N items, converted from any integer type, which an initializer_list would refuse. The
 * extra element allows an empty list. */
template <typename T, int N> struct ht_list_of {
    T at[N + 1];
    const T *begin() const
    {
        return at;
    }
};

template <typename T, typename... Ts> ht_list_of<T, sizeof...(Ts)> ht_list_from(Ts... items)
{
    return {{static_cast<T>(items)...}};
}

#define HT_LIST(type, ...)                                  \
    static_cast<int>(sizeof(ht_count_of(__VA_ARGS__)) - 1), \
        std::initializer_list<type>{__VA_ARGS__}.begin()
#define HT_INTEGERS(type, ...) \
    static_cast<int>(sizeof(ht_count_of(__VA_ARGS__)) - 1), ht_list_from<type>(__VA_ARGS__).begin()

#else

/* clang-format off */
#define HT_LIST(type, ...) \
    (int)(sizeof((type[]){__VA_ARGS__}) / sizeof(type)), (type[]){__VA_ARGS__}
/* The items follow a 0, which allows an empty list. */
#define HT_INTEGERS(type, ...)                                  \
    (int)(sizeof((type[]){0, __VA_ARGS__}) / sizeof(type)) - 1, \
        &(type[]){0, __VA_ARGS__}[sizeof((type[]){0, __VA_ARGS__}) > sizeof(type)]
/* clang-format on */

#endif

#define HT_SHAPE(...) HT_INTEGERS(int64_t, __VA_ARGS__)
#define HT_AXES(...)  HT_INTEGERS(int, __VA_ARGS__)

#endif
