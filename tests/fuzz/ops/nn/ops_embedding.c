/* SPDX-License-Identifier: MIT
 *
 * Rows of a matrix by index, alone and in bags; products and distances of rows. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/ops/nn/ops_layers.h"

enum { INDICES = 40 };

static bool is_table(struct run *run, const struct variable *x)
{
    return x->a.ndim == 2 && is_tame(run, x, 64) && x->a.shape[0] > 0 &&
           ht_tensor_split(x->t) == HT_NONE;
}

/* n[0] mode, n[1] bags, n[2] most rows of a bag, n[3] flags. */
enum {
    OFFSETS = 1,
    PADDING = 2,
    BY_FREQUENCY = 4,
    LAST_OFFSET = 8,
    SAMPLE_WEIGHTS = 16,
    SPLIT = 32
};

static bool generate_bag(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_table);
    if (s->arg[0] < 0)
        return false;
    pick_scale(run, s);
    s->n[0] = random_below(&run->random, 3);
    s->n[1] = random_below(&run->random, 6);
    s->n[2] = random_below(&run->random, 5);
    s->n[3] = random_below(&run->random, 64) & ~(s->n[0] == HT_BAG_SUM ? 0 : SAMPLE_WEIGHTS);
    if (s->n[0] == HT_BAG_MAX)
        s->n[3] &= ~BY_FREQUENCY;
    return true;
}

static bool fits(struct run *run, const struct statement *s)
{
    return is_table(run, &run->vars[s->arg[0]]) && has_good_scale(run, s);
}

static int64_t bag_length(const struct statement *s, int64_t bag)
{
    return s->n[3] & OFFSETS ? choice(s, (int)(100 + bag), s->n[2] + 1) : s->n[2];
}

static int64_t index_at(const struct statement *s, int64_t i, int64_t rows)
{
    return choice(s, (int)(200 + i), rows);
}

static int64_t padding_of(const struct statement *s, int64_t rows)
{
    return s->n[3] & PADDING ? choice(s, 50, rows) : HT_NO_PADDING;
}

static struct outcome call_bag(struct run *run, const struct statement *s)
{
    const struct array *table = array_of(run, s, 0);
    ht_embedding_bag_options options = ht_embedding_bag_options_default();
    int64_t indices[INDICES], offsets[7], count = 0, shape[2] = {s->n[1], s->n[2]}, marks;
    const bool flat = s->n[3] & OFFSETS;
    ht_tensor *index, *offset = NULL;

    if (!fits(run, s))
        return done(HT_SUCCESS);
    for (int64_t bag = 0; bag < s->n[1]; bag++) {
        offsets[bag] = count;
        for (int64_t i = 0; i < bag_length(s, bag); i++, count++)
            indices[count] = index_at(s, count, table->shape[0]);
    }
    offsets[s->n[1]] = count;
    marks = s->n[1] + (s->n[3] & LAST_OFFSET ? 1 : 0);
    index = ht_array(indices, flat ? 1 : 2, flat ? &count : shape, HT_INT64,
                     !flat && s->n[3] & SPLIT ? 0 : HT_NONE);
    if (flat)
        offset = ht_array(offsets, 1, &marks, HT_INT64, HT_NONE);
    options.mode = (ht_bag_mode)s->n[0];
    options.include_last_offset = flat && s->n[3] & LAST_OFFSET;
    options.padding_idx = padding_of(s, table->shape[0]);
    options.scale_grad_by_freq = s->n[3] & BY_FREQUENCY;
    if (s->n[3] & SAMPLE_WEIGHTS) {
        options.per_sample_weights = weights(run, s, 0, flat ? 1 : 2, flat ? &count : shape);
        if (!flat && s->n[3] & SPLIT)
            options.per_sample_weights = ht_resplit(options.per_sample_weights, 0);
    }
    return made(ht_embedding_bag(index, tensor_of(run, s, 0), offset, &options));
}

/* a, whose derivatives are divided by the number of times that its row is taken. */
static struct number by_frequency(const struct statement *s, struct number a, int64_t row,
                                  int64_t rows, int64_t count)
{
    struct number r = a;
    double times = 0;

    for (int64_t i = 0; i < count; i++)
        times += index_at(s, i, rows) == row;
    if (s->n[3] & BY_FREQUENCY)
        chain(&r, 1 / times, a, 0, NULL);
    return r;
}

static struct number bag_at(struct run *run, const struct statement *s, int64_t first, int64_t bag,
                            int64_t column, int64_t all)
{
    const struct array *table = array_of(run, s, 0);
    const int64_t rows = table->shape[0], columns = table->shape[1];
    struct total total = total_new();
    struct number most = {.re = -INFINITY};
    int64_t count = 0;

    for (int64_t i = first; i < first + bag_length(s, bag); i++) {
        const int64_t row = index_at(s, i, rows);
        struct number a = array_at(table, row * columns + column);

        if (row == padding_of(s, rows))
            continue;
        a = by_frequency(s, a, row, rows, all);
        if (s->n[0] == HT_BAG_MAX && count > 0 && a.err + most.err > 0 &&
            fabs(a.re - most.re) <= a.err + most.err)
            return number_unknown();
        most = count == 0 || a.re > most.re ? a : most; /* the first of equals */
        count++;
        total_add_product(&total, table->dtype, a,
                          s->n[3] & SAMPLE_WEIGHTS ? weight_at(run, s, 0, i) : exactly(1));
    }
    if (count == 0)
        return exactly(0);
    if (s->n[0] == HT_BAG_MAX)
        return most;
    return s->n[0] == HT_BAG_SUM
               ? soft_total(table->dtype, &total)
               : soft_div(table->dtype, soft_total(table->dtype, &total), exactly((double)count));
}

static int reference_bag(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *table = array_of(run, s, 0);
    int64_t shape[2], first = 0, all = 0;

    if (!fits(run, s))
        return WANT_ANYTHING;
    shape[0] = s->n[1];
    shape[1] = table->shape[1];
    *out = array_new(table->dtype, 2, shape);
    for (int64_t bag = 0; bag < shape[0]; bag++)
        all += bag_length(s, bag);
    for (int64_t bag = 0; bag < shape[0]; first += bag_length(s, bag++))
        for (int64_t c = 0; c < shape[1]; c++)
            array_set(out, bag * shape[1] + c,
                      narrow(run, table->dtype, bag_at(run, s, first, bag, c, all), 0, 1));
    return WANT_SUCCESS;
}

/* --- Single rows: n[1] x n[2] indices --- */

static struct outcome call_embedding(struct run *run, const struct statement *s)
{
    ht_embedding_options options = ht_embedding_options_default();
    int64_t indices[INDICES], shape[2] = {s->n[1], s->n[2]};
    const struct array *table = array_of(run, s, 0);

    if (!fits(run, s))
        return done(HT_SUCCESS);
    for (int64_t i = 0; i < s->n[1] * s->n[2]; i++)
        indices[i] = index_at(s, i, table->shape[0]);
    options.padding_idx = padding_of(s, table->shape[0]);
    options.scale_grad_by_freq = s->n[3] & BY_FREQUENCY;
    return made(ht_embedding_ext(
        ht_array(indices, 2, shape, HT_INT64, s->n[3] & SPLIT ? (int)(s->n[0] % 2) : HT_NONE),
        tensor_of(run, s, 0), &options));
}

static int reference_embedding(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *table = array_of(run, s, 0);
    int64_t shape[3] = {s->n[1], s->n[2], 0}, rows;

    if (!fits(run, s))
        return WANT_ANYTHING;
    rows = table->shape[0];
    shape[2] = table->shape[1];
    *out = array_new(table->dtype, 3, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        const int64_t row = index_at(s, i / shape[2], rows);
        struct number a = array_at(table, row * shape[2] + i % shape[2]);

        a = by_frequency(s, a, row, rows, s->n[1] * s->n[2]);
        if (row == padding_of(s, rows))
            a.d = NULL;
        array_set(out, i, narrow(run, table->dtype, a, 0, 0));
    }
    return WANT_SUCCESS;
}

/* --- Two operands --- */

static const struct array *left;

static bool is_rows(struct run *run, const struct variable *x)
{
    return x->a.ndim >= 1 && x->a.ndim <= 3 && is_tame(run, x, 16) && array_size(&x->a) <= 60;
}

static bool is_like_left(struct run *run, const struct variable *x)
{
    return is_rows(run, x) && x->a.dtype == left->dtype && same_shape(&x->a, left);
}

static bool generate_pair(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_rows);
    if (s->arg[0] < 0)
        return false;
    left = array_of(run, s, 0);
    s->arg[1] = pick(run, is_like_left);
    s->n[0] = random_below(&run->random, left->ndim);
    return s->arg[1] >= 0;
}

static bool is_pair(struct run *run, const struct statement *s)
{
    left = array_of(run, s, 0);
    return is_rows(run, &run->vars[s->arg[0]]) && is_like_left(run, &run->vars[s->arg[1]]) &&
           s->n[0] < left->ndim;
}

static struct outcome call_cosine(struct run *run, const struct statement *s)
{
    if (!is_pair(run, s))
        return done(HT_SUCCESS);
    return made(
        ht_cosine_similarity(tensor_of(run, s, 0), tensor_of(run, s, 1), (int)s->n[0], 1e-3));
}

static struct outcome call_distance(struct run *run, const struct statement *s)
{
    if (!is_pair(run, s))
        return done(HT_SUCCESS);
    return made(
        ht_pairwise_distance(tensor_of(run, s, 0), tensor_of(run, s, 1), 2, 0.125, s->n[0] > 0));
}

/* Sums over `axis` of a shape, for element i of the rest: x x, x y and y y; or the differences. */
static void sums_of(const struct array *x, const struct array *y, int axis, int64_t i,
                    struct total sum[3], bool differences)
{
    int64_t rest[3] = {1, 1, 1}, at[3];

    memcpy(rest, x->shape, (size_t)x->ndim * sizeof *rest);
    rest[axis] = 1;
    unravel(i, x->ndim, rest, at);
    for (at[axis] = 0; at[axis] < x->shape[axis]; at[axis]++) {
        const struct number a = array_at_coords(x, x->ndim, at),
                            b = array_at_coords(y, y->ndim, at);
        const struct number d = soft_add(x->dtype, soft_sub(x->dtype, a, b), exactly(0.125));

        total_add_product(&sum[0], x->dtype, differences ? d : a, differences ? d : a);
        total_add_product(&sum[1], x->dtype, a, b);
        total_add_product(&sum[2], x->dtype, b, b);
    }
}

static struct number norm_of(ht_dtype dtype, const struct total *squares)
{
    struct number r = soft_sqrt(dtype, soft_total(dtype, squares));

    if (is_unknown(r) || fabs(r.re - 1e-3) <= r.err || r.re == 1e-3)
        return number_unknown();
    return r.re > 1e-3 ? r : exactly(1e-3);
}

static int reference_pair(struct run *run, const struct statement *s, struct array *out,
                          bool distance)
{
    const struct array *x = array_of(run, s, 0), *y = array_of(run, s, 1);
    int64_t shape[3] = {1, 1, 1};
    const int axis = distance ? x->ndim - 1 : (int)s->n[0];
    int ndim = 0;

    if (!is_pair(run, s))
        return WANT_ANYTHING;
    for (int i = 0; i < x->ndim; i++) {
        if (i != axis)
            shape[ndim++] = x->shape[i];
    }
    if (distance && s->n[0] > 0)
        shape[ndim++] = 1;
    *out = array_new(x->dtype, ndim, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct total sum[3] = {total_new(), total_new(), total_new()};
        struct number r;

        sums_of(x, y, axis, i, sum, distance);
        r = distance ? soft_sqrt(x->dtype, soft_total(x->dtype, &sum[0]))
                     : soft_div(x->dtype, soft_total(x->dtype, &sum[1]),
                                soft_mul(x->dtype, norm_of(x->dtype, &sum[0]),
                                         norm_of(x->dtype, &sum[2])));
        array_set(out, i, narrow(run, x->dtype, r, distance ? 0 : 32 * eps_of(x->dtype), 4));
    }
    return WANT_SUCCESS;
}

static int reference_cosine(struct run *run, const struct statement *s, struct array *out)
{
    return reference_pair(run, s, out, false);
}

static int reference_distance(struct run *run, const struct statement *s, struct array *out)
{
    return reference_pair(run, s, out, true);
}

const struct op ops_embedding[] = {
    {"ht_embedding_bag(%t, %t, mode %n, bags %n, length %n, flags %n, seed %x)", 8, generate_bag,
     call_bag, reference_bag, .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {"ht_embedding_ext(%t, %t, split %n, indices %n %n, flags %n, seed %x)", 6, generate_bag,
     call_embedding, reference_embedding, .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {"ht_cosine_similarity(%t, %t, axis %n)", 5, generate_pair, call_cosine, reference_cosine,
     .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {"ht_pairwise_distance(%t, %t, keepdims %n)", 5, generate_pair, call_distance,
     reference_distance, .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {0}};
