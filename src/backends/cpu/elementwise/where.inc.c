/* SPDX-License-Identifier: MIT
 *
 * Template: elements of one of two tensors, chosen by a mask. */

/* y (n) = mask (n) ? a (n) : b (n), row by row, in the bits they have. */
HT_KERNEL(where)
{
    const ht_loop *loop = (const ht_loop *)call;
    const int64_t n = row_length(loop), ys = row_stride(loop, 0), ms = row_stride(loop, 1);
    const int64_t as = row_stride(loop, 2), bs = row_stride(loop, 3);
    const size_t sizes[] = {sizeof(T), 1, sizeof(T), sizeof(T)};
    row_walk walk;

    (void)stream;
    for (bool more = row_walk_begin(&walk, loop); more; more = row_walk_next(&walk, 4, sizes)) {
        T *y = (T *)walk.at[0];
        const uint8_t *mask = (const uint8_t *)walk.at[1];
        const T *a = (const T *)walk.at[2], *b = (const T *)walk.at[3];

        /* Both are loaded first, or the choice would be a branch. */
        if (ys == 1 && ms == 1 && as == 1 && bs == 1) {
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++) {
                const T one = a[i], other = b[i];

                y[i] = mask[i] != 0 ? one : other;
            }
        } else if (ys == 1 && ms == 1 && as == 1 && bs == 0) {
            const T other = *b;
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++) {
                const T one = a[i];

                y[i] = mask[i] != 0 ? one : other;
            }
        } else if (ys == 1 && ms == 1 && as == 0 && bs == 1) {
            const T one = *a;
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++) {
                const T other = b[i];

                y[i] = mask[i] != 0 ? one : other;
            }
        } else {
            for (int64_t i = 0; i < n; i++)
                y[i * ys] = mask[i * ms] != 0 ? a[i * as] : b[i * bs];
        }
    }
    return 0;
}

static void NAME(fill_rows)(ht_kernel_table *k)
{
    k->at[HT_KERNEL_WHERE][ID] = NAME(where);
}
