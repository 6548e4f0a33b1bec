/* SPDX-License-Identifier: MIT
 *
 * Template: cumulative sums and products, accumulated and stored like sums (reduce.inc.c). */

/* One line along the axis. */
static void NAME(cumsum_line)(const ht_cumulation *c, TOTAL *y, const T *x, SUM sum)
{
    for (int64_t i = 0; i < c->count; i++) {
        sum += (SUM)LOAD(x[i * c->in_stride]);
        y[i * c->out_stride] = TO_TOTAL(sum);
    }
}

#if HT_KIND == HT_KIND_FLOAT && defined(HT_HAVE_SCAN)
/* One line without gaps, by groups of 16. Three steps give the sums inside each half of a group;
 * then the sum before is added to them. So only one addition in 16 waits for the one before it. */
static void NAME(cumsum_dense)(int64_t n, T *y, const T *x, double start)
{
    typedef T half __attribute__((vector_size(8 * sizeof(T))));
    ht_scan carry = {0};
    int64_t i = 0;

    carry += start;
    for (; i + 16 <= n; i += 16) {
        half low, high;
        ht_scan a, b, first, last;

        memcpy(&low, x + i, sizeof low);
        memcpy(&high, x + i + 8, sizeof high);
        a = __builtin_convertvector(low, ht_scan);
        b = __builtin_convertvector(high, ht_scan);
        HT_SCAN_STEPS(a);
        HT_SCAN_STEPS(b);
        first = HT_SCAN_LAST(a);
        last = HT_SCAN_LAST(b);
        a += carry;
        b += carry + first;
        carry += first + last;
        low = __builtin_convertvector(a, half);
        high = __builtin_convertvector(b, half);
        memcpy(y + i, &low, sizeof low);
        memcpy(y + i + 8, &high, sizeof high);
    }
    for (start = carry[0]; i < n; i++) {
        start += (double)x[i];
        y[i] = (T)start;
    }
}
#endif

/* m neighbouring lines at once, step by step. */
static void NAME(cumsum_lines)(const ht_cumulation *c, int64_t m, TOTAL *y, int64_t ys, const T *x,
                               int64_t xs, const SUM *start, int64_t ss)
{
    SUM sum[HT_REDUCE_BLOCK] = {0};

    for (int64_t j = 0; start != NULL && j < m; j++)
        sum[j] = start[j * ss];
    for (int64_t i = 0; i < c->count; i++)
        for (int64_t j = 0; j < m; j++) {
            sum[j] += (SUM)LOAD(x[i * c->in_stride + j * xs]);
            y[i * c->out_stride + j * ys] = TO_TOTAL(sum[j]);
        }
}

static void NAME(cumprod_lines)(const ht_cumulation *c, int64_t m, TOTAL *y, int64_t ys, const T *x,
                                int64_t xs, const SUM *start, int64_t ss)
{
    SUM product[HT_REDUCE_BLOCK];

    for (int64_t j = 0; j < m; j++)
        product[j] = start != NULL ? start[j * ss] : (SUM)1;
    for (int64_t i = 0; i < c->count; i++)
        for (int64_t j = 0; j < m; j++) {
            product[j] *= (SUM)LOAD(x[i * c->in_stride + j * xs]);
            y[i * c->out_stride + j * ys] = TO_TOTAL(product[j]);
        }
}

HT_INLINE int NAME(cumulate)(const ht_cumulation *c, bool products)
{
    const ht_loop *loop = &c->loop;
    const int64_t n = row_length(loop), ys = row_stride(loop, 0), xs = row_stride(loop, 1);
    const int64_t ss = row_stride(loop, 2);
    const bool together = n >= 2 && llabs(xs) < llabs(c->in_stride);
    const int64_t block = together ? HT_REDUCE_BLOCK : 1;
    const int operands = loop->operand[2].data != NULL ? 3 : 2;
    const size_t sizes[] = {sizeof(TOTAL), sizeof(T), sizeof(SUM)};
    row_walk walk;

    for (bool more = row_walk_begin(&walk, loop); more;
         more = row_walk_next(&walk, operands, sizes))
        for (int64_t i = 0; i < n; i += block) {
            TOTAL *y = (TOTAL *)walk.at[0] + i * ys;
            const T *x = (const T *)walk.at[1] + i * xs;
            const SUM *start = operands == 3 ? (const SUM *)walk.at[2] + i * ss : NULL;

            if (products)
                NAME(cumprod_lines)(c, n - i < block ? n - i : block, y, ys, x, xs, start, ss);
            else if (together)
                NAME(cumsum_lines)(c, n - i < block ? n - i : block, y, ys, x, xs, start, ss);
#if HT_KIND == HT_KIND_FLOAT && defined(HT_HAVE_SCAN)
            else if (c->in_stride == 1 && c->out_stride == 1)
                NAME(cumsum_dense)(c->count, y, x, start != NULL ? *start : 0);
#endif
            else
                NAME(cumsum_line)(c, y, x, start != NULL ? *start : 0);
        }
    return 0;
}

HT_KERNEL(cumulative_CUMSUM)
{
    (void)stream;
    return NAME(cumulate)((const ht_cumulation *)call, false);
}

HT_KERNEL(cumulative_CUMPROD)
{
    (void)stream;
    return NAME(cumulate)((const ht_cumulation *)call, true);
}

static void NAME(fill_cumulative)(ht_kernel_table *k)
{
    k->at[HT_KERNEL_CUMPROD][ID] = NAME(cumulative_CUMPROD);
    k->at[HT_KERNEL_CUMSUM][ID] = NAME(cumulative_CUMSUM);
}
