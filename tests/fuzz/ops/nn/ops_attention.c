/* SPDX-License-Identifier: MIT
 *
 * Attention with masks, groups of heads, scales; connectionist temporal classification by all of
 * its paths. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/ops/nn/ops_layers.h"

/* --- Attention: keys, values and masks are weights --- */

enum { NO_MASK, BOOL_MASK, ADDED_MASK, CAUSAL, MASKS }; /* n[0] */
enum { KEYS, VALUES, MASK };                            /* lists of own numbers */

/* n[1] keys, n[2] columns of a value, n[3]: what the mask shares, n[4] a scale in eighths or 0,
 * n[5] groups of heads or 0. */
struct heads {
    struct run *run;
    const struct statement *s;
    const struct array *q;
    int64_t lead, heads, groups, l, e; /* lead: matrices; heads: of them, the last leading axis */
    int leads;
};

static bool is_query(struct run *run, const struct variable *x)
{
    const int ndim = x->a.ndim;

    return ndim >= 2 && ndim <= 4 && array_size(&x->a) <= 60 && is_tame(run, x, 4) &&
           x->a.shape[ndim - 1] > 0;
}

static bool generate_heads(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_query);
    if (s->arg[0] < 0)
        return false;
    pick_scale(run, s);
    s->n[0] = random_below(&run->random, MASKS);
    s->n[1] = random_below(&run->random, 6);
    s->n[2] = 1 + random_below(&run->random, 3);
    s->n[3] = random_below(&run->random, 3);
    s->n[4] = random_chance(&run->random, 40) ? 1 + random_below(&run->random, 8) : 0;
    s->n[5] = random_chance(&run->random, 40) ? 1 + random_below(&run->random, 3) : 0;
    return true;
}

static struct heads heads_of(struct run *run, const struct statement *s)
{
    const struct array *q = array_of(run, s, 0);
    struct heads h = {.run = run, .s = s, .q = q, .leads = q->ndim - 2, .groups = 1};

    h.lead = shape_size(h.leads, q->shape);
    h.heads = h.leads > 0 ? q->shape[h.leads - 1] : 1;
    h.l = q->shape[h.leads];
    h.e = q->shape[h.leads + 1];
    if (h.leads > 0 && s->n[5] > 0 && h.heads % s->n[5] == 0)
        h.groups = s->n[5];
    return h;
}

static bool fits_heads(struct run *run, const struct statement *s)
{
    return is_query(run, &run->vars[s->arg[0]]) && has_good_scale(run, s);
}

/* The leading axes of a mask: all of them, ones, or none. */
static int mask_shape(const struct heads *h, int64_t shape[])
{
    const int leads = h->s->n[3] == 2 ? 0 : h->leads;

    for (int i = 0; i < leads; i++)
        shape[i] = h->s->n[3] == 0 ? h->q->shape[i] : 1;
    shape[leads] = h->l;
    shape[leads + 1] = h->s->n[1];
    return leads + 2;
}

static bool keeps(const struct heads *h, int64_t index)
{
    return choice(h->s, (int)(100 + index), 3) > 0;
}

static ht_tensor *make_mask(const struct heads *h)
{
    int64_t shape[4];
    const int ndim = mask_shape(h, shape);
    const int64_t size = shape_size(ndim, shape);
    uint8_t *keep;
    ht_tensor *mask;

    if (h->s->n[0] == ADDED_MASK)
        return weights(h->run, h->s, MASK, ndim, shape);
    if (h->s->n[0] != BOOL_MASK)
        return NULL;
    keep = malloc((size_t)size + 1);
    for (int64_t i = 0; i < size; i++)
        keep[i] = keeps(h, i);
    mask = ht_array(keep, ndim, shape, HT_BOOL, HT_NONE);
    free(keep);
    return mask;
}

static struct outcome call_heads(struct run *run, const struct statement *s)
{
    ht_attention_options options = ht_attention_options_default();
    int64_t k[4], v[4];
    struct heads h;

    if (!fits_heads(run, s))
        return done(HT_SUCCESS);
    h = heads_of(run, s);
    memcpy(k, h.q->shape, sizeof k);
    if (h.leads > 0)
        k[h.leads - 1] /= h.groups;
    k[h.leads] = s->n[1];
    memcpy(v, k, sizeof v);
    v[h.leads + 1] = s->n[2];
    options.attn_mask = make_mask(&h);
    options.is_causal = s->n[0] == CAUSAL;
    options.scale = s->n[4] > 0 ? (double)s->n[4] / 8 : (double)NAN;
    options.enable_gqa = h.groups > 1;
    return made(ht_scaled_dot_product_attention_ext(
        tensor_of(run, s, 0), weights(run, s, KEYS, h.leads + 2, k),
        weights(run, s, VALUES, h.leads + 2, v), &options));
}

/* The score of key j for row i of matrix b, with the mask; false: it is left out. */
static bool score(const struct heads *h, int64_t b, int64_t i, int64_t j, struct number *to)
{
    const int64_t keys = h->s->n[1], key = b / h->groups * keys + j;
    const int64_t masked = ((h->s->n[3] == 0 ? b : 0) * h->l + i) * keys + j;
    const double scale = h->s->n[4] > 0 ? (double)h->s->n[4] / 8 : 1 / sqrt((double)h->e);
    struct total total = total_new();

    if ((h->s->n[0] == CAUSAL && j > i) || (h->s->n[0] == BOOL_MASK && !keeps(h, masked)))
        return false;
    for (int64_t c = 0; c < h->e; c++)
        total_add_product(&total, h->q->dtype, array_at(h->q, (b * h->l + i) * h->e + c),
                          weight_at(h->run, h->s, KEYS, key * h->e + c));
    *to = soft_mul(h->q->dtype, soft_total(h->q->dtype, &total), exactly(scale));
    if (h->s->n[0] == ADDED_MASK)
        *to = soft_add(h->q->dtype, *to, weight_at(h->run, h->s, MASK, masked));
    return true;
}

/* Row i of matrix b. */
static void attend(const struct heads *h, int64_t b, int64_t i, struct number y[])
{
    const ht_dtype d = h->q->dtype;
    const int64_t keys = h->s->n[1], columns = h->s->n[2];
    struct number scores[6], most = {.re = -INFINITY}, sum = {0};
    bool seen[6], any = false;

    for (int64_t j = 0; j < keys; j++) {
        seen[j] = score(h, b, i, j, &scores[j]);
        any = any || seen[j];
        most.re = seen[j] ? fmax(most.re, scores[j].re) : most.re;
    }
    for (int64_t c = 0; c < columns; c++)
        y[c] = exactly(0);
    for (int64_t j = 0; j < keys; j++) {
        struct number w;

        if (!seen[j])
            continue;
        scores[j].err += 8 * eps_of(d) * fabs(most.re);
        w = soft_exp(d, soft_sub(d, scores[j], most));
        sum = soft_add(d, sum, w);
        for (int64_t c = 0; c < columns; c++) {
            struct number v = weight_at(h->run, h->s, VALUES,
                                        (b / h->groups * keys + j) * columns + c);

            v = soft_mul(d, w, v);
            if (!is_unknown(v)) /* sums of large and small terms */
                v.err += 8 * eps_of(d) * fabs(v.re);
            y[c] = soft_add(d, y[c], v);
        }
    }
    for (int64_t c = 0; any && c < columns; c++)
        y[c] = soft_div(d, y[c], sum);
}

static int reference_heads(struct run *run, const struct statement *s, struct array *out)
{
    int64_t shape[4];
    struct heads h;

    if (!fits_heads(run, s))
        return WANT_ANYTHING;
    h = heads_of(run, s);
    if (refused_split(run, s, h.leads > 0 ? 0 : HT_NONE) ||
        (run->status != HT_SUCCESS && h.groups > 1 && h.leads == 1 &&
         ht_tensor_split(tensor_of(run, s, 0)) == 0))
        return (int)run->status;
    memcpy(shape, h.q->shape, sizeof shape);
    shape[h.leads + 1] = s->n[2];
    *out = array_new(h.q->dtype, h.leads + 2, shape);
    for (int64_t row = 0; row < h.lead * h.l; row++) {
        struct number y[3];

        attend(&h, row / h.l, row % h.l, y);
        for (int64_t c = 0; c < s->n[2]; c++)
            array_set(out, row * s->n[2] + c, narrow(run, h.q->dtype, y[c], 0, 1));
    }
    return WANT_SUCCESS;
}

/* --- Connectionist temporal classification of a log-softmax --- */

enum { WIDEST = 3, STEPS = 4 }; /* of a target; of a sequence */
static const ht_reduction_mode modes[] = {HT_MEAN, HT_SUM, HT_NO_REDUCTION};

/* n[0] reduction, n[1] zero_infinity, n[2] blank, n[3]: targets one after another. */
struct sequences {
    struct run *run;
    const struct statement *s;
    const struct array *x;
    int64_t steps, rows, classes, blank;
};

static bool is_log_input(struct run *run, const struct variable *x)
{
    return x->a.ndim == 3 && is_tame(run, x, 8) && array_size(&x->a) <= 40 && x->a.shape[0] > 0 &&
           x->a.shape[0] <= STEPS && x->a.shape[2] >= 2 && x->a.shape[2] <= 4;
}

static bool generate_ctc(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_log_input);
    s->n[0] = random_below(&run->random, 3);
    s->n[1] = random_below(&run->random, 2);
    s->n[2] = random_below(&run->random, 4);
    s->n[3] = random_below(&run->random, 2);
    return s->arg[0] >= 0;
}

static struct sequences sequences_of(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);

    return (struct sequences){.run = run,
                              .s = s,
                              .x = x,
                              .steps = x->shape[0],
                              .rows = x->shape[1],
                              .classes = x->shape[2],
                              .blank = s->n[2] % x->shape[2]};
}

static int64_t steps_of(const struct sequences *q, int64_t row)
{
    return choice(q->s, (int)(3 * row), 4) == 0 ? choice(q->s, (int)(3 * row + 1), q->steps + 1)
                                                : q->steps;
}

static int64_t target_length(const struct sequences *q, int64_t row)
{
    return choice(q->s, (int)(3 * row + 2), WIDEST + 1);
}

static int64_t target_at(const struct sequences *q, int64_t row, int64_t i)
{
    return (q->blank + 1 + choice(q->s, (int)(200 + row * WIDEST + i), q->classes - 1)) %
           q->classes;
}

static struct outcome call_ctc(struct run *run, const struct statement *s)
{
    ht_ctc_options options = ht_ctc_options_default();
    int64_t targets[40 * WIDEST], lengths[2][40], count = 0;
    struct sequences q;
    int64_t shape[2];

    if (!is_log_input(run, &run->vars[s->arg[0]]))
        return done(HT_SUCCESS);
    q = sequences_of(run, s);
    for (int64_t row = 0; row < q.rows; row++) {
        lengths[0][row] = steps_of(&q, row);
        lengths[1][row] = target_length(&q, row);
        for (int64_t i = 0; i < (s->n[3] ? lengths[1][row] : WIDEST); i++)
            targets[count++] = target_at(&q, row, i);
    }
    shape[0] = s->n[3] ? count : q.rows;
    shape[1] = WIDEST;
    options.blank = q.blank;
    options.zero_infinity = s->n[1] != 0;
    options.reduction = modes[s->n[0]];
    return made(ht_ctc_loss_ext(ht_log_softmax(tensor_of(run, s, 0), 2),
                                ht_array(targets, s->n[3] ? 1 : 2, shape, HT_INT64, HT_NONE),
                                ht_array(lengths[0], 1, &q.rows, HT_INT64, HT_NONE),
                                ht_array(lengths[1], 1, &q.rows, HT_INT64, HT_NONE), &options));
}

/* Whether a path spells the target of a row. */
static bool spells(const struct sequences *q, int64_t row, const int64_t path[])
{
    const int64_t length = target_length(q, row);
    int64_t found = 0;

    for (int64_t t = 0; t < steps_of(q, row); t++) {
        if (path[t] == q->blank || (t > 0 && path[t] == path[t - 1]))
            continue;
        if (found == length || path[t] != target_at(q, row, found))
            return false;
        found++;
    }
    return found == length;
}

/* The loss of a row; infinite where no path spells its target. */
static struct number ctc_at(const struct sequences *q, int64_t row)
{
    const int64_t steps = steps_of(q, row);
    struct number p[STEPS][4], sum = {0};
    int64_t shape[STEPS], path[STEPS], count;
    bool any = false;

    for (int64_t t = 0; t < steps; t++) {
        shape[t] = q->classes;
        for (int64_t c = 0; c < q->classes; c++)
            p[t][c] = soft_exp(q->x->dtype, log_softmax_at(q->x, t * q->rows + row, c));
    }
    count = shape_size((int)steps, shape);
    for (int64_t i = 0; i < count; i++) {
        struct number product = exactly(1);

        unravel(i, (int)steps, shape, path);
        if (!spells(q, row, path))
            continue;
        any = true;
        for (int64_t t = 0; t < steps; t++)
            product = soft_mul(HT_FLOAT64, product, p[t][path[t]]);
        sum = soft_add(HT_FLOAT64, sum, product);
    }
    return any ? number_neg(HT_FLOAT64, soft_log(HT_FLOAT64, sum)) : exactly(INFINITY);
}

static int reference_ctc(struct run *run, const struct statement *s, struct array *out)
{
    struct number all = {0};
    struct sequences q;

    if (!is_log_input(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    q = sequences_of(run, s);
    if (refused_split(run, s, 1))
        return (int)run->status;
    *out = array_new(q.x->dtype, s->n[0] == 2, &q.rows);
    for (int64_t row = 0; row < q.rows; row++) {
        const int64_t length = target_length(&q, row);
        struct number loss = ctc_at(&q, row);

        if (isinf(loss.re)) /* its gradient is NaN */
            loss = s->n[1] ? exactly(0) : number_unknown();
        if (s->n[0] == 2)
            array_set(out, row, narrow(run, q.x->dtype, loss, 0, 2));
        if (s->n[0] == 0)
            loss = soft_div(q.x->dtype, loss, exactly(fmax(1, (double)length)));
        all = soft_add(q.x->dtype, all, loss);
    }
    if (s->n[0] == 0 && q.rows > 0)
        all = soft_div(q.x->dtype, all, exactly((double)q.rows));
    if (s->n[0] != 2)
        array_set(out, 0, narrow(run, q.x->dtype, all, 0, 2));
    return WANT_SUCCESS;
}

const struct op ops_attention[] = {
    {"ht_scaled_dot_product_attention(%t, %t, mask %n, keys %n, columns %n, mask's axes %n, "
     "scale %n / 8, groups %n, seed %x)",
     10, generate_heads, call_heads, reference_heads,
     .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {"ctc of log_softmax(%t, mode %n, zero_infinity %n, blank %n, in a row %n, seed %x)", 10,
     generate_ctc, call_ctc, reference_ctc, .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {0}};
