/* SPDX-License-Identifier: MIT
 *
 * Layers as functions. Their other operands are data of the statement's seed, unless a variable
 * fits. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/ops/nn/ops_layers.h"

/* Layers share their input along axis 0 or not at all; another split may be refused. */
bool may_refuse(const struct run *run, const struct statement *s)
{
    int split = ht_tensor_split(run->vars[s->arg[0]].t);

    return run->status != HT_SUCCESS && split != HT_NONE && split != 0;
}

struct number narrow(const struct run *run, ht_dtype dtype, struct number a, double err,
                     double ulps)
{
    struct number r;

    if (is_unknown(a))
        return number_unknown();
    r = finish(dtype, a, a.err + err, ulps);
    if (!run->recording)
        r.d = NULL;
    return r;
}

bool is_real(struct run *run, const struct variable *x)
{
    (void)run;
    return x->a.dtype == HT_FLOAT32 || x->a.dtype == HT_FLOAT64;
}

static struct number own_data(const struct statement *s, ht_dtype dtype, int64_t index)
{
    return data_number(DATA_FRACTION, dtype, s->seed + 17, (uint64_t)index);
}

static ht_tensor *own_tensor(const struct statement *s, ht_dtype dtype, int ndim,
                             const int64_t shape[])
{
    int64_t size = shape_size(ndim, shape);
    char *bytes = malloc((size_t)size * 16 + 1);
    ht_tensor *t;

    for (int64_t i = 0; i < size; i++)
        store(dtype, bytes + (size_t)i * ht_dtype_size(dtype), own_data(s, dtype, i));
    t = ht_array(bytes, ndim, shape, dtype, HT_NONE);
    free(bytes);
    return t;
}

/* --- Products --- */

static const struct array *input;

static bool is_weight(struct run *run, const struct variable *x)
{
    (void)run;
    return x->a.ndim == 2 && x->a.shape[1] == input->shape[input->ndim - 1] &&
           x->a.dtype == input->dtype && ht_tensor_split(x->t) == HT_NONE;
}

static bool has_rows(struct run *run, const struct variable *x)
{
    return is_real(run, x) && x->a.ndim >= 1 && x->a.shape[x->a.ndim - 1] > 0;
}

static bool generate_linear(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, has_rows);
    if (s->arg[0] < 0)
        return false;
    input = array_of(run, s, 0);
    s->arg[1] = pick(run, is_weight);
    return s->arg[1] >= 0;
}

static struct outcome call_linear(struct run *run, const struct statement *s)
{
    return made(ht_linear(tensor_of(run, s, 0), tensor_of(run, s, 1), NULL));
}

static int reference_linear(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0), *w = array_of(run, s, 1);
    int64_t shape[HT_MAX_NDIM], in, rows;

    if (x->ndim == 0 || w->ndim != 2 || w->shape[1] != x->shape[x->ndim - 1])
        return WANT_FAILURE;
    if (may_refuse(run, s) || x->dtype != w->dtype || !is_real(run, &run->vars[s->arg[0]]) ||
        ht_tensor_split(tensor_of(run, s, 1)) != HT_NONE ||
        (ht_tensor_split(tensor_of(run, s, 0)) == x->ndim - 1))
        return run->status != HT_SUCCESS ? (int)run->status : WANT_ANYTHING;
    memcpy(shape, x->shape, sizeof shape);
    in = w->shape[1];
    shape[x->ndim - 1] = w->shape[0];
    *out = array_new(x->dtype, x->ndim, shape);
    rows = w->shape[0];
    for (int64_t i = 0; i < array_size(out); i++) {
        struct total total = total_new();

        for (int64_t k = 0; k < in; k++)
            total_add_product(&total, x->dtype, array_at(x, i / rows * in + k),
                              array_at(w, i % rows * in + k));
        array_set(out, i, narrow(run, x->dtype, total_round(&total, x->dtype, x->dtype), 0, 1));
    }
    return WANT_SUCCESS;
}

/* --- Attention, whose values are its keys --- */

static bool has_matrices(struct run *run, const struct variable *x)
{
    return has_rows(run, x) && x->a.ndim >= 2 && x->a.ndim <= 4;
}

static bool has_keys(struct run *run, const struct variable *x)
{
    const int last = input->ndim - 1;
    bool same = is_real(run, x) && x->a.ndim == input->ndim && x->a.dtype == input->dtype;

    for (int i = 0; same && i <= last; i++)
        same = i == last - 1 || x->a.shape[i] == input->shape[i];
    return same;
}

static bool generate_attention(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, has_matrices);
    if (s->arg[0] < 0)
        return false;
    input = array_of(run, s, 0);
    s->arg[1] = pick(run, has_keys);
    s->n[0] = random_below(&run->random, 2);
    return s->arg[1] >= 0;
}

static struct outcome call_attention(struct run *run, const struct statement *s)
{
    ht_attention_options options = ht_attention_options_default();
    ht_tensor *key = tensor_of(run, s, 1);

    options.is_causal = s->n[0] != 0;
    return made(ht_scaled_dot_product_attention_ext(tensor_of(run, s, 0), key, key, &options));
}

/* The score of a row of x and one of keys, both of length n. */
static struct number score_of(const struct array *x, int64_t row, const struct array *keys,
                              int64_t key, int64_t n)
{
    const struct number scale = {.re = 1 / sqrt((double)n)};
    struct total total = total_new();
    struct number r;

    for (int64_t c = 0; c < n; c++)
        total_add_product(&total, x->dtype, array_at(x, row * n + c), array_at(keys, key * n + c));
    r = total_round(&total, x->dtype, x->dtype);
    if (is_unknown(r) || !isfinite(r.re))
        return number_unknown();
    r = number_mul(HT_FLOAT64, r, scale);
    if (!is_unknown(r))
        r.err += 8 * eps_of(x->dtype) * total.size * scale.re;
    return r;
}

/* An infinite value makes NaN of a weight of 0, so a key that a row does not see counts. */
static bool has_infinite(const struct array *keys, int64_t first, int64_t count)
{
    const int64_t n = keys->shape[keys->ndim - 1];

    for (int64_t i = first * n; i < (first + count) * n; i++) {
        if (is_unknown(array_at(keys, i)) || !isfinite(array_at(keys, i).re))
            return true;
    }
    return false;
}

/* Element `column` of a row of x, for `count` keys from `first` on. */
static struct number attention_at(const struct array *x, int64_t row, const struct array *keys,
                                  int64_t first, int64_t count, int64_t column)
{
    const int64_t n = x->shape[x->ndim - 1];
    struct number most = {.re = -INFINITY}, sum = {0}, top = {0}, r;
    double size = 0;

    for (int64_t j = first; j < first + count; j++) {
        r = score_of(x, row, keys, j, n);
        if (is_unknown(r) || is_unknown(array_at(keys, j * n + column)))
            return number_unknown();
        most.re = fmax(most.re, r.re);
        size = fmax(size, fabs(array_at(keys, j * n + column).re));
    }
    for (int64_t j = first; j < first + count; j++) {
        r = number_exp(HT_FLOAT64, number_sub(HT_FLOAT64, score_of(x, row, keys, j, n), most));
        if (is_unknown(r))
            return r;
        sum = number_add(HT_FLOAT64, sum, r);
        top = number_add(HT_FLOAT64, top,
                         number_mul(HT_FLOAT64, r, array_at(keys, j * n + column)));
        if (is_unknown(sum) || is_unknown(top))
            return number_unknown();
    }
    r = count > 0 ? number_div(HT_FLOAT64, top, sum) : number_real(x->dtype, 0);
    if (!is_unknown(r))
        r.err += 64 * eps_of(x->dtype) * size * (1 + fabs(most.re)) * (count > 0);
    return r;
}

static int reference_attention(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0), *keys = array_of(run, s, 1);
    const int last = x->ndim - 1;
    int64_t rows, count, columns;

    input = x;
    if (!has_matrices(run, &run->vars[s->arg[0]]) || !has_keys(run, &run->vars[s->arg[1]]))
        return WANT_ANYTHING;
    for (int i = 0; i < 2; i++) {
        const int split = ht_tensor_split(tensor_of(run, s, i));

        if (run->status != HT_SUCCESS && split != HT_NONE && (split != 0 || last == 1))
            return (int)run->status;
    }
    *out = array_new(x->dtype, x->ndim, x->shape);
    rows = x->shape[last - 1];
    count = keys->shape[last - 1];
    columns = x->shape[last];
    for (int64_t i = 0; i < array_size(out); i++) {
        const int64_t row = i / columns, first = row / rows * count;
        const int64_t seen = s->n[0] && row % rows < count ? row % rows + 1 : count;

        array_set(out, i,
                  has_infinite(keys, first, count)
                      ? number_unknown()
                      : narrow(run, x->dtype, attention_at(x, row, keys, first, seen, i % columns),
                               0, 1));
    }
    return WANT_SUCCESS;
}

/* --- Images --- */

static bool is_image(struct run *run, const struct variable *x)
{
    return is_real(run, x) && x->a.ndim == 4;
}

static struct outcome call_pool(struct run *run, const struct statement *s);

static bool generate_image(struct run *run, const struct op *op, struct statement *s)
{
    const struct array *x;

    s->arg[0] = pick(run, is_image);
    if (s->arg[0] < 0)
        return false;
    x = array_of(run, s, 0);
    if (x->shape[1] == 0 && op->call == call_pool) /* refused */
        return false;
    for (int i = 0; i < 2; i++) { /* kernel, stride; padding and dilation are shared */
        int64_t length = x->shape[2 + i] > 0 ? x->shape[2 + i] : 1;

        s->n[i] = 1 + random_below(&run->random, length < 3 ? length : 3);
        s->n[2 + i] = 1 + random_below(&run->random, 2);
    }
    s->n[4] = random_chance(&run->random, 30) && s->n[0] > 1 && s->n[1] > 1;
    s->n[5] = 1 + random_below(&run->random, 2);
    return true;
}

static int64_t output_length(int64_t length, int64_t kernel, int64_t stride, int64_t padding)
{
    int64_t room = length + 2 * padding - kernel;

    return room < 0 ? 0 : room / stride + 1;
}

static struct outcome call_pool(struct run *run, const struct statement *s)
{
    int64_t padding[] = {s->n[4], s->n[4]}, dilation[] = {1, 1};

    return made(ht_max_pool2d_ext(tensor_of(run, s, 0), s->n, s->n + 2, padding, dilation));
}

static struct number pool_at(const struct array *x, const struct statement *s, const int64_t at[])
{
    struct number best = {.re = -INFINITY};
    bool doubt = false, any = false; /* an element of -inf is one, too */

    for (int64_t k = 0; k < s->n[0] * s->n[1]; k++) {
        int64_t from[] = {at[0], at[1], at[2] * s->n[2] - s->n[4] + k / s->n[1],
                          at[3] * s->n[3] - s->n[4] + k % s->n[1]};
        struct number a;

        if (from[2] < 0 || from[2] >= x->shape[2] || from[3] < 0 || from[3] >= x->shape[3])
            continue;
        a = array_at_coords(x, 4, from);
        doubt = doubt || a.err > 0;
        if (!any || a.re > best.re || (isnan(a.re) && !isnan(best.re)))
            best = a;
        any = true;
    }
    return doubt ? number_unknown() : best;
}

static int reference_pool(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t shape[4];

    if (!is_image(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    memcpy(shape, x->shape, sizeof shape);
    for (int i = 0; i < 2; i++) {
        shape[2 + i] = output_length(x->shape[2 + i], s->n[i], s->n[2 + i], s->n[4]);
        if (shape[2 + i] <= 0 || s->n[4] * 2 > s->n[i] || x->shape[2 + i] == 0)
            return run->status != HT_SUCCESS ? (int)run->status : WANT_ANYTHING;
    }
    *out = array_new(x->dtype, 4, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        int64_t at[4];

        unravel(i, 4, shape, at);
        array_set(out, i, narrow(run, x->dtype, pool_at(x, s, at), 0, 0));
    }
    return WANT_SUCCESS;
}

static struct outcome call_conv(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);
    int64_t shape[] = {s->n[5], x->ndim == 4 ? x->shape[1] : 1, s->n[0], s->n[1]};
    ht_conv2d_options options = ht_conv2d_options_default();

    for (int i = 0; i < 2; i++) {
        options.stride[i] = s->n[2 + i];
        options.padding[i] = s->n[4];
    }
    return made(ht_conv2d(tensor_of(run, s, 0), own_tensor(s, x->dtype, 4, shape), NULL, &options));
}

static int reference_conv(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t shape[4], window = s->n[0] * s->n[1];

    if (!is_image(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    memcpy(shape, x->shape, sizeof shape);
    shape[1] = s->n[5];
    for (int i = 0; i < 2; i++) {
        shape[2 + i] = output_length(x->shape[2 + i], s->n[i], s->n[2 + i], s->n[4]);
        if (shape[2 + i] <= 0 || x->shape[1] == 0)
            return run->status != HT_SUCCESS ? (int)run->status : WANT_ANYTHING;
    }
    *out = array_new(x->dtype, 4, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct total total = total_new();
        int64_t at[4];

        unravel(i, 4, shape, at);
        for (int64_t k = 0; k < x->shape[1] * window; k++) {
            int64_t from[] = {at[0], k / window, at[2] * s->n[2] - s->n[4] + k % window / s->n[1],
                              at[3] * s->n[3] - s->n[4] + k % s->n[1]};

            if (from[2] >= 0 && from[2] < x->shape[2] && from[3] >= 0 && from[3] < x->shape[3])
                total_add_product(&total, x->dtype, array_at_coords(x, 4, from),
                                  own_data(s, x->dtype, at[1] * x->shape[1] * window + k));
        }
        array_set(out, i, narrow(run, x->dtype, total_round(&total, x->dtype, x->dtype), 0, 1));
    }
    return WANT_SUCCESS;
}

const struct op ops_layers[] = {
    {"ht_linear(%t, %t)", 10, generate_linear, call_linear, reference_linear,
     .rules = RULE_SMOOTH | RULE_SAVES},
    {"ht_scaled_dot_product_attention(%t, %t, causal %n)", 8, generate_attention, call_attention,
     reference_attention, .rules = RULE_SMOOTH | RULE_SAVES},
    {"ht_max_pool2d_ext(%t, kernel %n %n, stride %n %n, padding %n)", 8, generate_image, call_pool,
     reference_pool, .rules = RULE_SMOOTH | RULE_SAVES},
    {"ht_conv2d(%t, kernel %n %n, stride %n %n, padding %n, channels %n, seed %x)", 8,
     generate_image, call_conv, reference_conv, .rules = RULE_SMOOTH | RULE_SAVES},
    {0}};
