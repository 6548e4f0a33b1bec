/* SPDX-License-Identifier: MIT
 *
 * Distances between rows. */
#include "fuzz/fuzz.h"

enum { EUCLIDEAN, MANHATTAN, GAUSSIAN };
enum { MOST = 4000 }; /* elements of a result */

static const struct array *left;

static bool is_real_matrix(struct run *run, const struct variable *x)
{
    (void)run;
    return x->a.ndim == 2 && kind_of(x->a.dtype) < KIND_COMPLEX;
}

static bool has_rows_as_long(struct run *run, const struct variable *x)
{
    return is_real_matrix(run, x) && x->a.shape[1] == left->shape[1] &&
           x->a.shape[0] * left->shape[0] < MOST;
}

static bool generate_distance(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_real_matrix);
    if (s->arg[0] < 0)
        return false;
    left = array_of(run, s, 0);
    s->arg[1] = pick(run, has_rows_as_long);
    return s->arg[1] >= 0;
}

static struct outcome call_cdist(struct run *run, const struct statement *s)
{
    return made(ht_cdist(tensor_of(run, s, 0), tensor_of(run, s, 1), false));
}

static struct outcome call_manhattan(struct run *run, const struct statement *s)
{
    return made(ht_manhattan(tensor_of(run, s, 0), tensor_of(run, s, 1)));
}

static struct outcome call_rbf(struct run *run, const struct statement *s)
{
    return made(ht_rbf(tensor_of(run, s, 0), tensor_of(run, s, 1), 1, false));
}

static struct number between_rows(const struct array *x, const struct array *y, int64_t i,
                                  int64_t j, int of, ht_dtype dtype)
{
    struct total total = total_new();
    struct number sum;

    for (int64_t l = 0; l < x->shape[1]; l++) {
        struct number a = convert(array_at(x, i * x->shape[1] + l), x->dtype, dtype);
        struct number b = convert(array_at(y, j * y->shape[1] + l), y->dtype, dtype);
        struct number d = number_sub(dtype, a, b);

        if (of != MANHATTAN)
            d = number_mul(dtype, d, d);
        else if (d.re == 0)
            d.d = NULL; /* the slope there is 0 */
        else if (d.re < 0)
            d = number_neg(dtype, d);
        total_add(&total, dtype, d);
    }
    sum = total_round(&total, dtype, dtype);
    if (of == GAUSSIAN)
        return number_exp(dtype, number_mul(dtype, sum, number_real(dtype, -0.5)));
    return of == EUCLIDEAN ? number_sqrt(dtype, sum) : sum;
}

static int reference(struct run *run, const struct statement *s, int of, struct array *out)
{
    const struct array *x = array_of(run, s, 0), *y = array_of(run, s, 1);
    ht_dtype dtype = promote(x->dtype, y->dtype), computed;
    int64_t shape[2];

    if (x->ndim != 2 || y->ndim != 2 || kind_of(dtype) == KIND_COMPLEX)
        return WANT_ANYTHING;
    if (x->shape[1] != y->shape[1])
        return HT_ERR_SHAPE;
    dtype = kind_of(dtype) < KIND_FLOAT ? HT_FLOAT32 : dtype;
    computed = dtype == HT_FLOAT64 ? HT_FLOAT64 : HT_FLOAT32;
    shape[0] = x->shape[0];
    shape[1] = y->shape[0];
    *out = array_new(dtype, 2, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct number d = between_rows(x, y, i / shape[1], i % shape[1], of, computed);

        d = convert(d, computed, dtype);
        if (!run->recording)
            d.d = NULL;
        array_set(out, i, d);
    }
    return WANT_SUCCESS;
}

static int reference_cdist(struct run *run, const struct statement *s, struct array *out)
{
    return reference(run, s, EUCLIDEAN, out);
}

static int reference_manhattan(struct run *run, const struct statement *s, struct array *out)
{
    return reference(run, s, MANHATTAN, out);
}

static int reference_rbf(struct run *run, const struct statement *s, struct array *out)
{
    return reference(run, s, GAUSSIAN, out);
}

/* In a program with gradients, the derivatives at distance 0 would be infinite. */
const struct op ops_spatial[] = {{.format = "ht_cdist(%t, %t, false)",
                                  .weight = 5,
                                  .generate = generate_distance,
                                  .call = call_cdist,
                                  .reference = reference_cdist,
                                  .rules = RULE_SAVES},
                                 {.format = "ht_manhattan(%t, %t)",
                                  .weight = 4,
                                  .generate = generate_distance,
                                  .call = call_manhattan,
                                  .reference = reference_manhattan,
                                  .rules = RULE_SAVES},
                                 {.format = "ht_rbf(%t, %t, 1, false)",
                                  .weight = 4,
                                  .generate = generate_distance,
                                  .call = call_rbf,
                                  .reference = reference_rbf,
                                  .rules = RULE_SAVES},
                                 {0}};
