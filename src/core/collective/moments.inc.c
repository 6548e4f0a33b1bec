/* SPDX-License-Identifier: MIT
 *
 * The merging of collective/sum.c for records (count, shift, sum, squares) of HT_REDUCE_MOMENTS,
 * where shift and sum have PARTS numbers. All records are brought to the shift of the piece with
 * the most elements. So no shift lies further from the mean than most elements do. */

enum { NAME(RECORD) = 2 + 2 * PARTS };

/* The first number of each record of y (n numbers) <- the squares about the mean / divisor. */
static void NAME(merge)(void *to, const void *pieces, int64_t n, int first, int count, int step,
                        double divisor)
{
    for (int64_t i = 0; i < n; i += NAME(RECORD)) {
        const double *largest = (const double *)pieces + first * n + i;
        double elements = 0, sum[PARTS] = {0}, squares = 0, about;
        bool finite = true;

        for (int k = 1; k < count; k++) {
            const double *x = (const double *)pieces + (first + k * step) * n + i;

            largest = x[0] > largest[0] ? x : largest;
        }
        for (int k = 0; k < count; k++) {
            const double *x = (const double *)pieces + (first + k * step) * n + i;

            if (x[0] == 0)
                continue;
            elements += x[0];
            squares += x[1 + 2 * PARTS];
            for (int part = 0; part < PARTS; part++) {
                const double by = x[1 + part] - largest[1 + part], s = x[1 + PARTS + part];

                if (isfinite(squares))
                    squares += by * (2 * s + x[0] * by);
                sum[part] += s + x[0] * by;
            }
        }
        about = squares;
        for (int part = 0; part < PARTS; part++) {
            finite = finite && isfinite(sum[part]);
            about -= sum[part] * sum[part] / elements;
        }
        if (finite && isinf(squares))
            about = squares;
        ((double *)to)[i] = (about < 0 ? 0 : about) / divisor;
    }
}
