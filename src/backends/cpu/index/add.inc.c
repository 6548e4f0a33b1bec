/* SPDX-License-Identifier: MIT
 *
 * Template: adds elements to those in place. Integers wrap around; bool adds by `or`. */

static void NAME(add_line)(void *to, int64_t to_step, const void *from, int64_t from_step,
                           int64_t n)
{
    T *y = to;
    const T *x = from;

    for (int64_t i = 0; i < n; i++)
        y[i * to_step] = STORE((WRAP)LOAD(y[i * to_step]) + (WRAP)LOAD(x[i * from_step]));
}

HT_KERNEL(put_add)
{
    (void)stream;
    return walk_rows((const ht_index_call *)call, 0, sizeof(T), NAME(add_line));
}
