/* SPDX-License-Identifier: MIT
 *
 * Layers as functions. What they need beside their input is data of the statement's seed, unless a
 * variable fits. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

/* Layers share their input along axis 0 or not at all; another split may be refused. */
static bool may_refuse(const struct run *run, const struct statement *s)
{
    int split = ht_tensor_split(run->vars[s->arg[0]].t);

    return run->status != HT_SUCCESS && split != HT_NONE && split != 0;
}

static struct number narrow(const struct run *run, ht_dtype dtype, struct number a, double err,
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

static bool is_real(struct run *run, const struct variable *x)
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

/* --- Products -----------------------------------------------------------------------------------
 */

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

/* --- Images -------------------------------------------------------------------------------------
 */

static bool is_image(struct run *run, const struct variable *x)
{
    return is_real(run, x) && x->a.ndim == 4;
}

static bool generate_image(struct run *run, const struct op *op, struct statement *s)
{
    const struct array *x;

    (void)op;
    s->arg[0] = pick(run, is_image);
    if (s->arg[0] < 0)
        return false;
    x = array_of(run, s, 0);
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
    bool doubt = false;

    for (int64_t k = 0; k < s->n[0] * s->n[1]; k++) {
        int64_t from[] = {at[0], at[1], at[2] * s->n[2] - s->n[4] + k / s->n[1],
                          at[3] * s->n[3] - s->n[4] + k % s->n[1]};
        struct number a;

        if (from[2] < 0 || from[2] >= x->shape[2] || from[3] < 0 || from[3] >= x->shape[3])
            continue;
        a = array_at_coords(x, 4, from);
        doubt = doubt || a.err > 0;
        if (a.re > best.re || (isnan(a.re) && !isnan(best.re)))
            best = a;
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

/* --- Normalisation ------------------------------------------------------------------------------
 */

static bool has_classes(struct run *run, const struct variable *x)
{
    return is_real(run, x) && x->a.ndim == 2 && x->a.shape[1] > 0;
}

static bool generate_rows(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, has_classes);
    s->n[0] = random_below(&run->random, 3);
    return s->arg[0] >= 0;
}

/* x - log sum exp x over the row of x that has the element, in double. */
static struct number log_softmax_at(const struct array *x, int64_t row, int64_t column)
{
    struct number most = {.re = -INFINITY}, sum = {0}, r;

    for (int64_t k = 0; k < x->shape[1]; k++) {
        struct number a = array_at(x, row * x->shape[1] + k);

        if (is_unknown(a) || !isfinite(a.re))
            return number_unknown();
        most.re = fmax(most.re, a.re);
    }
    for (int64_t k = 0; k < x->shape[1]; k++)
        sum = number_add(
            HT_FLOAT64, sum,
            number_exp(HT_FLOAT64,
                       number_sub(HT_FLOAT64, array_at(x, row * x->shape[1] + k), most)));
    r = number_sub(HT_FLOAT64, array_at(x, row * x->shape[1] + column), most);
    r = is_unknown(sum) ? sum : number_sub(HT_FLOAT64, r, number_log(HT_FLOAT64, sum));
    if (!is_unknown(r))
        r.err += 16 * eps_of(x->dtype) * (1 + fabs(most.re) + fabs(r.re));
    return r;
}

static struct outcome call_log_softmax(struct run *run, const struct statement *s)
{
    return made(ht_log_softmax(tensor_of(run, s, 0), 1));
}

static int reference_log_softmax(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);

    if (!has_classes(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    *out = array_new(x->dtype, 2, x->shape);
    for (int64_t i = 0; i < array_size(out); i++)
        array_set(out, i,
                  narrow(run, x->dtype, log_softmax_at(x, i / x->shape[1], i % x->shape[1]), 0, 1));
    return WANT_SUCCESS;
}

static const ht_reduction_mode modes[] = {HT_MEAN, HT_SUM, HT_NO_REDUCTION};

static int64_t class_of(const struct statement *s, int64_t row, int64_t classes)
{
    return (int64_t)(hash_of(s->seed, (uint64_t)row) % (uint64_t)classes);
}

static struct outcome call_cross_entropy(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);
    int64_t *classes = malloc(sizeof *classes * (size_t)(x->shape[0] + 1)), rows = x->shape[0];
    ht_tensor *target;

    for (int64_t i = 0; has_classes(run, &run->vars[s->arg[0]]) && i < rows; i++)
        classes[i] = class_of(s, i, x->shape[1]);
    target = ht_array(classes, 1, &rows, HT_INT64,
                      ht_tensor_split(tensor_of(run, s, 0)) == 0 ? 0 : HT_NONE);
    free(classes);
    return made(ht_cross_entropy(tensor_of(run, s, 0), target, modes[s->n[0]]));
}

static int reference_cross_entropy(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    struct total total = total_new();
    struct number r, count = {.re = (double)x->shape[0]};

    if (!has_classes(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    if (run->status != HT_SUCCESS &&
        (may_refuse(run, s) || !ht_tensor_is_balanced(tensor_of(run, s, 0))))
        return (int)run->status;
    *out = array_new(x->dtype, s->n[0] == 2, x->shape);
    for (int64_t i = 0; i < x->shape[0]; i++) {
        struct number a = log_softmax_at(x, i, class_of(s, i, x->shape[1]));

        a = is_unknown(a) ? a : number_neg(HT_FLOAT64, a);
        total_add(&total, HT_FLOAT64, a);
        if (s->n[0] == 2)
            array_set(out, i, narrow(run, x->dtype, a, 0, 1));
    }
    if (s->n[0] == 2)
        return WANT_SUCCESS;
    r = total_round(&total, HT_FLOAT64, HT_FLOAT64);
    if (s->n[0] == 0 && x->shape[0] > 0 && !is_unknown(r))
        r = number_div(HT_FLOAT64, r, count);
    array_set(out, 0, narrow(run, x->dtype, r, eps_of(x->dtype) * total.size * 4, 2));
    return WANT_SUCCESS;
}

static bool same_as_input(struct run *run, const struct variable *x)
{
    (void)run;
    return x->a.dtype == input->dtype && same_shape(&x->a, input);
}

static bool generate_mse(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_real);
    if (s->arg[0] < 0)
        return false;
    input = array_of(run, s, 0);
    s->arg[1] = pick(run, same_as_input);
    s->n[0] = random_below(&run->random, 3);
    return true;
}

static struct outcome call_mse(struct run *run, const struct statement *s)
{
    return made(ht_mse_loss(tensor_of(run, s, 0), tensor_of(run, s, 1), modes[s->n[0]]));
}

static int reference_mse(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0), *y = array_of(run, s, 1);
    struct total total = total_new();
    struct number r, count = {.re = (double)array_size(x)};

    if (!same_shape(x, y))
        return WANT_FAILURE;
    if (x->dtype != y->dtype || kind_of(x->dtype) != KIND_FLOAT)
        return WANT_ANYTHING;
    *out = s->n[0] == 2 ? array_new(x->dtype, x->ndim, x->shape) : array_new(x->dtype, 0, NULL);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = array_at(x, i), b = array_at(y, i);

        a = is_unknown(a) || is_unknown(b) ? number_unknown() : number_sub(x->dtype, a, b);
        a = is_unknown(a) ? a : number_mul(x->dtype, a, a);
        total_add(&total, HT_FLOAT64, a);
        if (s->n[0] == 2)
            array_set(out, i, narrow(run, x->dtype, a, 0, 0));
    }
    if (s->n[0] == 2)
        return WANT_SUCCESS;
    r = total_round(&total, HT_FLOAT64, HT_FLOAT64);
    if (s->n[0] == 0 && array_size(x) > 0 && !is_unknown(r))
        r = number_div(HT_FLOAT64, r, count);
    r = narrow(run, x->dtype, r, (double)total.count * eps_of(x->dtype) * total.size, 4);
    array_set(out, 0, total.size > max_of(x->dtype) / 4 ? number_unknown() : r);
    return WANT_SUCCESS;
}

/* --- Dropout ------------------------------------------------------------------------------------
 */

static bool generate_dropout(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_real);
    s->n[0] = random_below(&run->random, 100);
    return s->arg[0] >= 0;
}

static struct outcome call_dropout(struct run *run, const struct statement *s)
{
    return made(ht_dropout(tensor_of(run, s, 0), 0.5, s->seed, (uint64_t)s->n[0]));
}

/* Whether the mask follows the order of channels-last memory, by the function's header. */
static bool by_layout(ht_tensor *x)
{
    int mine = ht_tensor_is_channels_last(x) && !ht_tensor_is_contiguous(x) &&
               ht_tensor_lsize(x) > 0 && (ht_tensor_split(x) == HT_NONE || ht_tensor_split(x) == 0);

    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return mine;
}

/* The mask is that of a tensor of ones that nobody shares. */
static int reference_dropout(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    bool laid_out = by_layout(tensor_of(run, s, 0));
    struct array mask;
    ht_tensor *ones;

    if (!is_real(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    ones = ht_ones(x->ndim, x->shape, x->dtype, HT_NONE);
    gather(ht_dropout(laid_out ? ht_channels_last(ones) : ones, 0.5, s->seed, (uint64_t)s->n[0]),
           &mask);
    *out = array_new(x->dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = array_at(x, i), m = array_at(&mask, i);

        if (m.re != 0 && m.re != 2)
            fail(run, "dropout gave %g of 1", m.re);
        array_set(out, i,
                  narrow(run, x->dtype,
                         is_unknown(a) ? a
                         : m.re == 0   ? number_real(x->dtype, 0)
                                       : number_mul(x->dtype, a, m),
                         0, 0));
    }
    return WANT_SUCCESS;
}

const struct op ops_layers[] = {
    {"ht_linear(%t, %t)", 10, generate_linear, call_linear, reference_linear, .rules = RULE_SMOOTH},
    {"ht_max_pool2d_ext(%t, kernel %n %n, stride %n %n, padding %n)", 8, generate_image, call_pool,
     reference_pool, .rules = RULE_SMOOTH},
    {"ht_conv2d(%t, kernel %n %n, stride %n %n, padding %n, channels %n, seed %x)", 8,
     generate_image, call_conv, reference_conv, .rules = RULE_SMOOTH},
    {"ht_log_softmax(%t)", 5, generate_rows, call_log_softmax, reference_log_softmax,
     .rules = RULE_SMOOTH},
    {"ht_cross_entropy(%t, mode %n, seed %x)", 6, generate_rows, call_cross_entropy,
     reference_cross_entropy, .rules = RULE_SMOOTH},
    {"ht_mse_loss(%t, %t, mode %n)", 6, generate_mse, call_mse, reference_mse,
     .rules = RULE_SMOOTH},
    {"ht_dropout(%t, 0.5, seed %x, draw %n)", 5, generate_dropout, call_dropout, reference_dropout,
     .rules = RULE_SMOOTH},
    {0}};
