/* SPDX-License-Identifier: MIT
 *
 * Template: moves elements of one size. */

static void NAME(move_line)(void *to, int64_t to_step, const void *from, int64_t from_step,
                            int64_t n)
{
    T *y = to;
    const T *x = from;

    if (to_step == 1 && from_step == 1) {
        memcpy(y, x, (size_t)n * sizeof *y);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        y[i * to_step] = x[i * from_step];
}

HT_KERNEL(take)
{
    const ht_index_call *c = (const ht_index_call *)call;
    T *y = c->loop.operand[0].data;
    const T *x = c->loop.operand[1].data;
    int64_t place;

    (void)stream;
    if (!is_single(&c->loop))
        return is_dense(&c->loop) ? move_dense(c, 1, sizeof(T))
                                  : walk_rows(c, 1, sizeof(T), NAME(move_line));
    for (int64_t row = 0; row < c->rows; row++) {
        if (ht__find_place(c, row, &place))
            y[row * c->row_step] = x[place];
    }
    return 0;
}

HT_KERNEL(put)
{
    const ht_index_call *c = (const ht_index_call *)call;
    T *x = c->loop.operand[0].data;
    const T *y = c->loop.operand[1].data;
    int64_t place;

    (void)stream;
    if (!is_single(&c->loop))
        return is_dense(&c->loop) ? move_dense(c, 0, sizeof(T))
                                  : walk_rows(c, 0, sizeof(T), NAME(move_line));
    for (int64_t row = 0; row < c->rows; row++) {
        if (ht__find_place(c, row, &place))
            x[place] = y[row * c->row_step];
    }
    return 0;
}
