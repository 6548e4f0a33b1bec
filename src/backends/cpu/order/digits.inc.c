/* SPDX-License-Identifier: MIT
 *
 * Template: compares the key of each element, line after line, with the requested beginnings, which
 * are few. */
#if HT_KIND != HT_KIND_COMPLEX
#include "backends/cpu/order/key.inc.c"

/* A beginning, and the counts of what follows it. */
typedef struct NAME(order_group) {
    uint64_t begins;
    int64_t *counts;
} NAME(order_group);

static void NAME(count_first)(const T *x, int64_t n, int bits, int64_t *counts)
{
    for (int64_t i = 0; i < n; i++)
        counts[NAME(order_words)(x[i], false).high >> (64 - bits)]++;
}

static void NAME(count_groups)(const T *x, int64_t n, const ht_digits_call *d,
                               const NAME(order_group) * groups, int64_t count)
{
    const uint64_t mask = ((uint64_t)1 << d->bits) - 1;

    for (int64_t i = 0; i < n; i++) {
        const uint64_t key = NAME(order_words)(x[i], false).high, begins = key >> (64 - d->used);

        for (int64_t g = 0; g < count; g++) {
            if (begins == groups[g].begins)
                groups[g].counts[key >> (64 - d->used - d->bits) & mask]++;
        }
    }
}

HT_KERNEL(order_DIGITS)
{
    const ht_digits_call *d = (const ht_digits_call *)call;
    NAME(order_group) *groups = ht__cpu_scratch((size_t)d->targets * sizeof *groups);

    (void)stream;
    if (groups == NULL)
        return 1;
    for (int64_t line = 0; line < d->lines; line++) {
        const T *x = (const T *)d->x.data + line * d->count;
        const uint64_t *keys = (const uint64_t *)d->keys.data + line * d->targets;
        int64_t *counts = (int64_t *)d->counts.data + (line * d->targets << d->bits), found = 0;

        for (int64_t t = 0; t < d->targets && d->used > 0; t++) {
            const uint64_t begins = keys[t] >> (64 - d->used);

            if (found == 0 || begins != groups[found - 1].begins)
                groups[found++] = (NAME(order_group)){begins, counts + (t << d->bits)};
        }
        if (d->used == 0)
            NAME(count_first)(x, d->count, d->bits, counts);
        else
            NAME(count_groups)(x, d->count, d, groups, found);
    }
    return 0;
}
#undef WORD
#undef WORD_BITS
#undef PART_KEY
#endif
