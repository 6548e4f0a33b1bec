/* SPDX-License-Identifier: MIT
 *
 * Template: merges neighbouring runs in pairs, in rounds, until one run is left. The rounds
 * alternate between two buffers, so that the last round ends in the output. */
#include "backends/cpu/order/key.inc.c"

/* A run, and the numbers that move with it; NULL: none. */
typedef struct NAME(order_run) {
    const T *x;
    const int64_t *index;
    int64_t n;
} NAME(order_run);

/* Without numbers, or with them: two separate loops. */
HT_INLINE void NAME(merge_two)(T *y, int64_t *index, NAME(order_run) a, NAME(order_run) b,
                               bool indexed, bool descending)
{
    while (a.n > 0 && b.n > 0) {
        const bool second = descending ? NAME(order_less)(*a.x, *b.x)
                                       : NAME(order_less)(*b.x, *a.x);

        *y++ = second ? *b.x : *a.x;
        if (indexed) {
            *index++ = second ? *b.index : *a.index;
            a.index += !second;
            b.index += second;
        }
        a.x += !second;
        a.n -= !second;
        b.x += second;
        b.n -= second;
    }
    if (a.n > 0)
        memcpy(y, a.x, (size_t)a.n * sizeof *y);
    if (b.n > 0)
        memcpy(y, b.x, (size_t)b.n * sizeof *y);
    if (indexed && a.n > 0)
        memcpy(index, a.index, (size_t)a.n * sizeof *index);
    if (indexed && b.n > 0)
        memcpy(index, b.index, (size_t)b.n * sizeof *index);
}

static NAME(order_run)
    NAME(merge_runs)(T *y, int64_t *index, NAME(order_run) a, NAME(order_run) b, bool descending)
{
    const NAME(order_run) whole = {y, index, a.n + b.n};

    if (index != NULL && descending)
        NAME(merge_two)(y, index, a, b, true, true);
    else if (index != NULL)
        NAME(merge_two)(y, index, a, b, true, false);
    else if (descending)
        NAME(merge_two)(y, NULL, a, b, false, true);
    else
        NAME(merge_two)(y, NULL, a, b, false, false);
    return whole;
}

/* All runs of a line, into to[0] at last; to[1] is spare. */
static void NAME(merge_line)(NAME(order_run) * runs, int64_t count, T *const to[2],
                             int64_t *const index[2], bool descending)
{
    int rounds = 0;

    for (int64_t n = count; n > 1; n = (n + 1) / 2)
        rounds++;
    if (count == 1) /* a copy */
        NAME(merge_runs)
    (to[0], index[0], runs[0], (NAME(order_run)){runs[0].x, runs[0].index, 0}, descending);
    for (; rounds > 0; rounds--) {
        const int into = (rounds - 1) % 2;
        int64_t done = 0, half = 0;

        for (int64_t i = 0; i < count; i += 2, half++) {
            const NAME(order_run) none = {runs[i].x, runs[i].index, 0};

            runs[half] = NAME(merge_runs)(to[into] + done,
                                          index[into] != NULL ? index[into] + done : NULL, runs[i],
                                          i + 1 < count ? runs[i + 1] : none, descending);
            done += runs[half].n;
        }
        count = half;
    }
}

HT_KERNEL(order_MERGE)
{
    const ht_merge_call *m = (const ht_merge_call *)call;
    const int64_t *begin = m->begin.data, *end = m->end.data, *x_index = m->x_index.data;
    const bool indexed = x_index != NULL;
    const size_t of_runs = ht__cpu_scratch_part((size_t)m->runs * sizeof(NAME(order_run)));
    const size_t of_values = m->runs > 2 ? ht__cpu_scratch_part((size_t)m->count * sizeof(T)) : 0;
    const size_t of_index = m->runs > 2 && indexed ? (size_t)m->count * sizeof(int64_t) : 0;
    char *memory = ht__cpu_scratch(of_runs + of_values + of_index);
    NAME(order_run) *runs = (NAME(order_run) *)(void *)memory;

    (void)stream;
    if (memory == NULL)
        return 1;
    for (int64_t line = 0; line < m->lines; line++) {
        T *const to[2] = {(T *)m->y.data + line * m->count, (T *)(void *)(memory + of_runs)};
        int64_t *const index[2] = {indexed ? (int64_t *)m->y_index.data + line * m->count : NULL,
                                   indexed ? (int64_t *)(void *)(memory + of_runs + of_values)
                                           : NULL};
        int64_t count = 0;

        for (int64_t run = line * m->runs; run < (line + 1) * m->runs; run++) {
            if (end[run] > begin[run])
                runs[count++] = (NAME(order_run)){(const T *)m->x.data + begin[run],
                                                  indexed ? x_index + begin[run] : NULL,
                                                  end[run] - begin[run]};
        }
        NAME(merge_line)(runs, count, to, index, m->descending);
    }
    return 0;
}

HT_KERNEL(order_PLACE)
{
    const ht_place_call *p = (const ht_place_call *)call;
    const T *x = p->x.data;
    const int64_t *begin = p->begin.data, *end = p->end.data;
    const uint64_t *keys = p->keys.data;
    int64_t *place = p->place.data;

    (void)stream;
    for (int64_t i = 0; i < p->count; i++) {
        const order_words key = {keys[2 * i], keys[2 * i + 1]};
        int64_t at = begin[i], n = end[i] - at;

        while (n > 0) {
            const int64_t half = n / 2;
            const bool lower = order_words_less(NAME(order_words)(x[at + half], p->descending),
                                                key);

            at = lower ? at + half + 1 : at;
            n = lower ? n - half - 1 : half;
        }
        place[i] = at;
    }
    return 0;
}
/* How many are below. */
HT_KERNEL(order_SEARCH)
{
    const ht_search_call *s = (const ht_search_call *)call;
    const int64_t length = row_length(&s->loop);
    const int64_t ys = row_stride(&s->loop, 0), xs = row_stride(&s->loop, 1);
    const size_t sizes[] = {sizeof(int64_t), sizeof(T)};
    const T *sorted = s->loop.operand[2].data;
    row_walk walk;

    (void)stream;
    for (bool more = row_walk_begin(&walk, &s->loop); more; more = row_walk_next(&walk, 2, sizes))
        for (int64_t i = 0; i < length; i++) {
            const T x = ((const T *)walk.at[1])[i * xs];
            const T *at = sorted;
            int64_t n = s->count;

            while (n > 0) {
                const int64_t half = (n + 1) / 2;
                const bool below = s->right ? !NAME(order_less)(x, at[half - 1])
                                            : NAME(order_less)(at[half - 1], x);

                at += below ? half : 0;
                n = below ? n - half : half - 1;
            }
            ((int64_t *)walk.at[0])[i * ys] = at - sorted;
        }
    return 0;
}
#undef WORD
#undef WORD_BITS
#undef PART_KEY
