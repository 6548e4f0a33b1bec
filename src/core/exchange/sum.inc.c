/* SPDX-License-Identifier: MIT
 *
 * The loops of exchange/sum.c for one element type T. */

static void NAME(add)(T *restrict y, const T *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
}

static void NAME(scale)(T *y, int64_t n, T scale)
{
    for (int64_t i = 0; i < n; i++)
        y[i] *= scale;
}

static void NAME(add2)(T *restrict y, const T *restrict a, const T *restrict b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

static void NAME(add4)(T *restrict y, const T *restrict a, const T *restrict b, const T *restrict c,
                       const T *restrict d, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = (a[i] + b[i]) + (c[i] + d[i]);
}

typedef struct NAME(tree) {
    const void *const *x; /* one buffer per rank */
    int folded;           /* the first `folded` leaves are sums of two ranks */
    int64_t at;           /* first element of the block */
    int64_t n;            /* its length, at most BLOCK */
    T *scratch;           /* one block per level, for the right-hand side of an addition */
} NAME(tree);

static const T *NAME(source)(const NAME(tree) * tree, int leaf)
{
    return (const T *)tree->x[leaf + tree->folded] + tree->at;
}

/* y <- the sum of `leaves` (a power of two) leaves from `first` on. */
static void NAME(node)(const NAME(tree) * tree, T *y, int first, int leaves, int level)
{
    if (first >= tree->folded && leaves <= 4) {
        const T *a = NAME(source)(tree, first);

        if (leaves == 1)
            memcpy(y, a, (size_t)tree->n * sizeof *y);
        else if (leaves == 2)
            NAME(add2)(y, a, NAME(source)(tree, first + 1), tree->n);
        else
            NAME(add4)
        (y, a, NAME(source)(tree, first + 1), NAME(source)(tree, first + 2),
         NAME(source)(tree, first + 3), tree->n);
        return;
    }
    if (leaves == 1) {
        NAME(add2)
        (y, (const T *)tree->x[2 * first] + tree->at, (const T *)tree->x[2 * first + 1] + tree->at,
         tree->n);
        return;
    }

    T *right = tree->scratch + (int64_t)level * BLOCK;

    NAME(node)(tree, y, first, leaves / 2, level + 1);
    NAME(node)(tree, right, first + leaves / 2, leaves / 2, level + 1);
    NAME(add)(y, right, tree->n);
}

static void NAME(sum)(T *y, const void *const x[], int ranks, int64_t at, int64_t n, double scale)
{
    _Alignas(64) T scratch[HT_SUM_LEVELS * BLOCK];
    int leaves = 1;

    while (2 * leaves <= ranks)
        leaves *= 2;

    NAME(tree) tree = {.x = x, .folded = ranks - leaves, .scratch = scratch};

    for (int64_t done = 0; done < n; done += BLOCK) {
        tree.at = at + done;
        tree.n = n - done < BLOCK ? n - done : BLOCK;
        NAME(node)(&tree, y + done, 0, leaves, 0);
        if (scale != 1)
            NAME(scale)(y + done, tree.n, (T)scale);
    }
}
