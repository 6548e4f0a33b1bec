/* SPDX-License-Identifier: MIT
 *
 * Lists as arguments, for the call that they stand in, in C and in C++. Each is two arguments, how
 * many and where:
 *
 *     ht_ones(HT_SHAPE(100, 1), HT_FLOAT32, 0)             int ndim, const int64_t shape[]
 *     ht_permute(x, HT_AXES(1, 0))                         int count, const int axes[]
 *     ht_nn_sequential(HT_LIST(ht_module *, conv, relu))   int count, ht_module *const modules[]
 *
 * A tensor of no axes has 0, NULL, or HT_SHAPE(). */
#ifndef HT_SHAPE_H
#define HT_SHAPE_H

#include <stdint.h>

#ifdef __cplusplus
#include <initializer_list>

/* How many there are and one, without evaluating them: only its type is asked. */
template <typename... T> char (&ht_count_of(T...))[sizeof...(T) + 1];

/* Lengths of any integer type, which an initializer_list would not convert; with room for none. */
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
/* Behind a 0, so that there may be none. */
#define HT_INTEGERS(type, ...)                                  \
    (int)(sizeof((type[]){0, __VA_ARGS__}) / sizeof(type)) - 1, \
        &(type[]){0, __VA_ARGS__}[sizeof((type[]){0, __VA_ARGS__}) > sizeof(type)]
/* clang-format on */

#endif

#define HT_SHAPE(...) HT_INTEGERS(int64_t, __VA_ARGS__)
#define HT_AXES(...)  HT_INTEGERS(int, __VA_ARGS__)

#endif
