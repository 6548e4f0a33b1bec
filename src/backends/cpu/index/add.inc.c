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

/* Rows without gaps. */
static int NAME(add_dense)(const ht_index_call *c)
{
    T *x = c->loop.operand[0].data;
    const T *y = c->loop.operand[1].data;
    int64_t place;

    for (int64_t row = 0; row < c->rows; row++, y += c->row_step) {
        prefetch_place(c, row + AHEAD, x, sizeof *x);
        if (!ht__find_place(c, row, &place))
            continue;
        HT_VECTORIZE
        for (int64_t i = 0; i < c->loop.shape[0]; i++)
            x[place + i] = STORE((WRAP)LOAD(x[place + i]) + (WRAP)LOAD(y[i]));
    }
    return 0;
}

HT_KERNEL(put_add)
{
    const ht_index_call *c = (const ht_index_call *)call;

    (void)stream;
    return is_dense(&c->loop) ? NAME(add_dense)(c) : walk_rows(c, 0, sizeof(T), NAME(add_line));
}
