/* SPDX-License-Identifier: MIT
 *
 * Template: sorts records by their keys; equal ones keep their order. REC is the record, FN makes
 * names, LOWER compares keys, GROUP takes 32 bits of a key: group 0 the lowest.
 *
 * Few records are sorted by insertion, more by merging, many by their digits. The digits of the
 * highest 32 bits come first, from the lowest digit to the highest. If keys have more bits, each
 * run of records that are still equal is then sorted by the next 32 bits. Such runs are few if keys
 * are spread, so a double takes hardly more passes than a float. A digit that all records share
 * takes no pass. */

static void FN(insert)(REC *a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const REC r = a[i];
        int64_t j = i;

        for (; j > 0 && LOWER(r, a[j - 1]); j--)
            a[j] = a[j - 1];
        a[j] = r;
    }
}

static void FN(merge)(REC *to, const REC *a, int64_t na, const REC *b, int64_t nb)
{
    while (na > 0 && nb > 0) {
        const bool second = LOWER(*b, *a);

        *to++ = second ? *b : *a;
        a += !second;
        na -= !second;
        b += second;
        nb -= second;
    }
    memcpy(to, a, (size_t)na * sizeof *a);
    memcpy(to + na, b, (size_t)nb * sizeof *b);
}

static void FN(merge_all)(REC *a, REC *spare, int64_t n)
{
    REC *from = a, *to = spare, *other;

    for (int64_t i = 0; i < n; i += ORDER_INSERTED)
        FN(insert)(a + i, n - i < ORDER_INSERTED ? n - i : ORDER_INSERTED);
    for (int64_t m = ORDER_INSERTED; m < n; m *= 2) {
        for (int64_t i = 0; i < n; i += 2 * m) {
            const int64_t na = n - i < m ? n - i : m, nb = n - i - na < m ? n - i - na : m;

            FN(merge)(to + i, from + i, na, from + i + na, nb);
        }
        other = from;
        from = to;
        to = other;
    }
    if (from != a)
        memcpy(a, from, (size_t)n * sizeof *a);
}

/* One pass: whether anything moved. `at`: how many records have each digit. */
static bool FN(pass)(REC *to, const REC *from, int64_t n, int group, int digit, int64_t at[])
{
    const int shift = digit * ORDER_DIGIT;
    int64_t before = 0;

    (void)group; /* of keys of one group */
    if (at[GROUP(from[0], group) >> shift & ORDER_DIGIT_MASK] == n)
        return false;
    for (int64_t d = 0; d <= ORDER_DIGIT_MASK; d++) {
        const int64_t count = at[d];

        at[d] = before;
        before += count;
    }
    for (int64_t i = 0; i < n; i++) {
        const REC r = from[i];

        to[at[GROUP(r, group) >> shift & ORDER_DIGIT_MASK]++] = r;
    }
    return true;
}

static void FN(by_digits)(REC *a, REC *spare, int64_t n, int group)
{
    int64_t at[ORDER_DIGITS][ORDER_DIGIT_MASK + 1];
    REC *from = a, *to = spare, *other;

    memset(at, 0, sizeof at);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t word = GROUP(a[i], group);

        for (int digit = 0; digit < ORDER_DIGITS; digit++)
            at[digit][word >> digit * ORDER_DIGIT & ORDER_DIGIT_MASK]++;
    }
    for (int digit = 0; digit < ORDER_DIGITS; digit++) {
        if (!FN(pass)(to, from, n, group, digit, at[digit]))
            continue;
        other = from;
        from = to;
        to = other;
    }
    if (from != a)
        memcpy(a, from, (size_t)n * sizeof *a);
}

/* The groups group ... last of the keys; those above are the same in all n records. */
static void FN(order)(REC *a, REC *spare, int64_t n, int group, int last)
{
    int64_t end;

    if (n <= ORDER_INSERTED) {
        FN(insert)(a, n);
        return;
    }
    if (n <= ORDER_MERGED) {
        FN(merge_all)(a, spare, n);
        return;
    }
    FN(by_digits)(a, spare, n, group);
    for (int64_t i = 0; group > last && i < n; i = end) {
        for (end = i + 1; end < n && GROUP(a[end], group) == GROUP(a[i], group); end++)
            continue;
        if (end - i > 1)
            FN(order)(a + i, spare + i, end - i, group - 1, last);
    }
}

#undef REC
#undef FN
#undef LOWER
#undef GROUP
