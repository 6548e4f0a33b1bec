/* SPDX-License-Identifier: MIT
 *
 * Template: reads one line after another into records, sorts them, and writes them back. */
#include "backends/cpu/order/key.inc.c"

/* A line: its elements, its results and their places, and working memory. */
typedef struct NAME(order_line) {
    const T *x;
    T *y;
    int64_t *place; /* NULL: not wanted */
    void *records, *spare;
} NAME(order_line);

#if HT_IS_FLOAT
/* Numbers that are equal but have different bits, -0 and NaN, for which the keys are one. */
static void NAME(order_restore)(const ht_sort_call *s, const NAME(order_line) * l, WORD key)
{
    const WORD *keys = l->records;
    int64_t at = 0, n = s->count;

    while (n > 0) {
        const int64_t half = n / 2;
        const bool lower = keys[at + half] < key;

        at = lower ? at + half + 1 : at;
        n = lower ? n - half - 1 : half;
    }
    for (int64_t i = 0; at < s->keep && keys[at] == key; i++) {
        const T x = l->x[i * s->in_stride];
        const WORD k = NAME(order_key)(x);

        if ((s->descending ? (WORD)~k : k) == key)
            l->y[at++ * s->out_stride] = x;
    }
}

#endif

#if HT_KIND != HT_KIND_COMPLEX
static void NAME(order_values)(const ht_sort_call *s, const NAME(order_line) * l)
{
    const int64_t n = s->count, xs = s->in_stride, ys = s->out_stride;
    const WORD turn = s->descending ? (WORD)-1 : 0;
    WORD *keys = l->records;

    if (xs == 1) {
        HT_VECTORIZE
        for (int64_t i = 0; i < n; i++)
            keys[i] = NAME(order_key)(l->x[i]) ^ turn;
    } else {
        for (int64_t i = 0; i < n; i++)
            keys[i] = NAME(order_key)(l->x[i * xs]) ^ turn;
    }
    if (sizeof(WORD) == 4)
        order_32((uint32_t *)(void *)keys, l->spare, n, 0, 0);
    else
        order_64((uint64_t *)(void *)keys, l->spare, n, 1, 0);
    if (ys == 1) {
        HT_VECTORIZE
        for (int64_t i = 0; i < s->keep; i++)
            l->y[i] = NAME(order_number)(keys[i] ^ turn);
    } else {
        for (int64_t i = 0; i < s->keep; i++)
            l->y[i * ys] = NAME(order_number)(keys[i] ^ turn);
    }
#if HT_IS_FLOAT
    NAME(order_restore)(s, l, NAME(order_key)((T)0) ^ turn);
    NAME(order_restore)(s, l, ((WORD)-1 >> (8 * sizeof(WORD) - WORD_BITS)) ^ turn);
#endif
}
#endif

/* The values are fetched from where they stood, all of what they are. */
#define FETCH(place_of)                                      \
    for (int64_t i = 0; i < s->keep; i++) {                  \
        const int64_t from = (place_of);                     \
                                                             \
        l->y[i * s->out_stride] = l->x[from * s->in_stride]; \
        if (l->place != NULL)                                \
            l->place[i * s->index_stride] = s->first + from; \
    }

#if HT_KIND != HT_KIND_COMPLEX
static void NAME(order_packed)(const ht_sort_call *s, const NAME(order_line) * l)
{
    const WORD turn = s->descending ? (WORD)-1 : 0;
    uint64_t *r = l->records;

    for (int64_t i = 0; i < s->count; i++)
        r[i] = (uint64_t)(NAME(order_key)(l->x[i * s->in_stride]) ^ turn) << 32 | (uint64_t)i;
    order_64(r, l->spare, s->count, 1, 1);
    FETCH((int64_t)(r[i] & UINT32_MAX))
}
#endif

#if HT_JOIN(ORDER_WIDE_, DTYPE)
#define RECORD                 wide
#define RECORD_OF(x, place)    ((wide){NAME(order_words)(x, s->descending), place})
#define ORDER(r, spare, count) order_wide(r, spare, count, 3, 0)
#else
#define RECORD                 pair
#define RECORD_OF(x, place)    ((pair){NAME(order_words)(x, s->descending).high, place})
#define ORDER(r, spare, count) order_pair(r, spare, count, 1, sizeof(T) < 8 ? 1 : 0)
#endif

static void NAME(order_records)(const ht_sort_call *s, const NAME(order_line) * l)
{
    RECORD *r = l->records;

    for (int64_t i = 0; i < s->count; i++)
        r[i] = RECORD_OF(l->x[i * s->in_stride], i);
    ORDER(r, l->spare, s->count);
    FETCH(r[i].place)
}

/* A few of many: of the best so far the last one is what others have to be better than. They are
 * sorted when there are twice as many. */
static void NAME(order_selected)(const ht_sort_call *s, const NAME(order_line) * l)
{
    const int64_t most = ORDER_SELECTED(s->keep);
    RECORD *r = l->records;
    int64_t n = 0;
    T worst = l->x[0];
    bool full = false;

    for (int64_t i = 0; i < s->count; i++) {
        const T x = l->x[i * s->in_stride];

        if (full && !(s->descending ? NAME(order_less)(worst, x) : NAME(order_less)(x, worst)))
            continue;
        r[n++] = RECORD_OF(x, i);
        if (n < most)
            continue;
        ORDER(r, l->spare, n);
        n = s->keep;
        worst = l->x[r[n - 1].place * s->in_stride];
        full = true;
    }
    ORDER(r, l->spare, n);
    FETCH(r[i].place)
}
#undef FETCH
#undef RECORD_OF
#undef ORDER

/* How the lines of a call are sorted, and the bytes of a record for it. */
typedef void NAME(order_fn)(const ht_sort_call *s, const NAME(order_line) * l);

static NAME(order_fn) * NAME(order_choose)(const ht_sort_call *s, size_t *bytes)
{
    const bool selects = s->keep > 0 && ORDER_SELECTED(s->keep) < s->count / 2;
    const int64_t n = selects ? ORDER_SELECTED(s->keep) : s->count;

    *bytes = (size_t)n * sizeof(RECORD);
    if (selects)
        return NAME(order_selected);
#if HT_KIND != HT_KIND_COMPLEX
    if (s->loop.operand[2].data == NULL) {
        *bytes = (size_t)n * sizeof(WORD);
        return NAME(order_values);
    }
    if (sizeof(WORD) == 4 && n <= UINT32_MAX) {
        *bytes = (size_t)n * sizeof(uint64_t);
        return NAME(order_packed);
    }
#endif
    return NAME(order_records);
}

HT_KERNEL(order_SORT)
{
    const ht_sort_call *s = (const ht_sort_call *)call;
    const int64_t n = row_length(&s->loop);
    const size_t sizes[] = {sizeof(T), sizeof(T), sizeof(int64_t)};
    const int operands = s->loop.operand[2].data != NULL ? 3 : 2;
    size_t bytes;
    NAME(order_fn) *order = NAME(order_choose)(s, &bytes);
    const size_t part = ht__cpu_scratch_part(bytes);
    char *memory = ht__cpu_scratch(2 * part);
    row_walk walk;

    (void)stream;
    if (memory == NULL)
        return 1;
    for (bool more = row_walk_begin(&walk, &s->loop); more;
         more = row_walk_next(&walk, operands, sizes))
        for (int64_t i = 0; i < n; i++)
            order(s,
                  &(NAME(order_line)){
                      .x = (const T *)walk.at[1] + i * row_stride(&s->loop, 1),
                      .y = (T *)walk.at[0] + i * row_stride(&s->loop, 0),
                      .place = operands == 3 ? (int64_t *)walk.at[2] + i * row_stride(&s->loop, 2)
                                             : NULL,
                      .records = memory,
                      .spare = memory + part,
                  });
    return 0;
}
#undef WORD
#undef WORD_BITS
#undef PART_KEY
#undef RECORD
