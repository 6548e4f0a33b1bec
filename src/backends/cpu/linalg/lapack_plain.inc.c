/* SPDX-License-Identifier: MIT
 *
 * LU and triangular systems by division. BLAS and LAPACK multiply by the inverse of a pivot, which
 * is infinite if the pivot is subnormal, and loses digits if the pivot is large. The functions here
 * serve matrices with such a pivot. They have no blocks, and are slower. */

static bool NAME(is_extreme)(C pivot)
{
    const R least_normal = sizeof(R) == sizeof(float) ? (R)FLT_MIN : (R)DBL_MIN, size = ABS(pivot);

    return size != 0 && (size < 4 * least_normal || size > 1 / (4 * least_normal));
}

/* x: n pivots, `step` elements apart. */
static bool NAME(has_extreme)(const C *x, int64_t n, int64_t step)
{
    for (int64_t i = 0; i < n; i++) {
        if (NAME(is_extreme)(x[i * step]))
            return true;
    }
    return false;
}

static void NAME(swap)(C *a, C *b, int64_t n)
{
    for (int64_t i = 0; i < n && a != b; i++) {
        const C kept = a[i];

        a[i] = b[i];
        b[i] = kept;
    }
}

/* x (m, n), row-major: l below the diagonal, and u. pivots: the row that each row was exchanged
 * with. Returns the number of the first pivot that is 0, from 1 on, or 0. */
static int64_t NAME(divide_lu)(int64_t m, int64_t n, C *x, int64_t *pivots)
{
    int64_t info = 0;

    for (int64_t j = 0; j < least(m, n); j++) {
        C *top = x + j * n;
        int64_t row = j;

        for (int64_t i = j + 1; i < m; i++)
            row = ABS(x[i * n + j]) > ABS(x[row * n + j]) ? i : row;
        pivots[j] = row;
        NAME(swap)(top, x + row * n, n);
        if (top[j] == 0) {
            info = info == 0 ? j + 1 : info;
            continue;
        }
        for (int64_t i = j + 1; i < m; i++) {
            C *line = x + i * n;

            line[j] /= top[j];
            for (int64_t k = j + 1; k < n; k++)
                line[k] -= line[j] * top[k];
        }
    }
    return info;
}

/* b (m, n) <- op(t)^-1 b, or b op(t)^-1, which is the transposed system. */
static void NAME(divide_triangular)(const ht_triangular_call *f, const C *t, C *b)
{
    const bool flipped = (f->op != HT_MATRIX_PLAIN) != f->right, upper = f->upper != flipped;
    const int64_t size = f->right ? f->n : f->m, count = f->right ? f->m : f->n;
    const int64_t down = f->right ? 1 : f->n, along = f->right ? f->n : 1;
    const int64_t t_down = flipped ? 1 : size, t_along = flipped ? size : 1;

    for (int64_t step = 0; step < size; step++) {
        const int64_t i = upper ? size - 1 - step : step;

        for (int64_t c = 0; c < count; c++) {
            C *x = b + c * along, sum = x[i * down];

            for (int64_t j = upper ? i + 1 : 0; j < (upper ? size : i); j++) {
                const C factor = t[i * t_down + j * t_along];

                sum -= (f->op == HT_MATRIX_ADJOINT ? CONJ(factor) : factor) * x[j * down];
            }
            if (!f->unit)
                sum /= f->op == HT_MATRIX_ADJOINT ? CONJ(t[i * (size + 1)]) : t[i * (size + 1)];
            x[i * down] = sum;
        }
    }
}
