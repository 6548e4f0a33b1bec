/* SPDX-License-Identifier: MIT
 *
 * The additions of collective/sum.c for numbers of type T, in type ACC. Piece r of n numbers begins
 * at pieces + r * n. Pieces are added from `first` on, up or down. */

/* y (n) <- the sum of `count` pieces / divisor */
static void NAME(total)(void *to, const void *pieces, int64_t n, int first, int count, int step,
                        double divisor)
{
    T *y = to;
    ACC sum[BLOCK];

    (void)divisor; /* integers are never divided */
    for (int64_t done = 0; done < n; done += BLOCK) {
        const int64_t m = n - done < BLOCK ? n - done : BLOCK;

        memset(sum, 0, (size_t)m * sizeof *sum);
        for (int k = 0; k < count; k++) {
            const T *x = (const T *)pieces + (first + k * step) * n + done;

            for (int64_t i = 0; i < m; i++)
                sum[i] += (ACC)x[i];
        }
        for (int64_t i = 0; i < m; i++)
            y[done + i] = (T)OVER(sum[i], divisor);
    }
}

/* Each piece <- the sum of those before it */
static void NAME(running)(void *pieces, int64_t n, int first, int count, int step)
{
    ACC sum[BLOCK];

    for (int64_t done = 0; done < n; done += BLOCK) {
        const int64_t m = n - done < BLOCK ? n - done : BLOCK;

        memset(sum, 0, (size_t)m * sizeof *sum);
        for (int k = 0; k < count; k++) {
            T *x = (T *)pieces + (first + k * step) * n + done;

            for (int64_t i = 0; i < m; i++) {
                const ACC before = sum[i];

                sum[i] += (ACC)x[i];
                x[i] = (T)before;
            }
        }
    }
}
