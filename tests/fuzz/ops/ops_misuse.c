/* SPDX-License-Identifier: MIT
 *
 * Wrong arguments: an error, the same on all ranks, and nothing has changed; an error that was not
 * read stays. */
#include <string.h>

#include "fuzz/ops/ops_gradients.h"

/* --- NULL --- */

static ht_status null_unary(ht_tensor *x)
{
    (void)x;
    return ht_exp(NULL) == NULL ? ht_error_get(NULL) : HT_SUCCESS;
}

static ht_status null_copy(ht_tensor *x)
{
    (void)x;
    return ht_copy(NULL) == NULL ? ht_error_get(NULL) : HT_SUCCESS;
}

static ht_status null_contiguous(ht_tensor *x)
{
    (void)x;
    return ht_contiguous(NULL) == NULL ? ht_error_get(NULL) : HT_SUCCESS;
}

static ht_status null_like(ht_tensor *x)
{
    (void)x;
    return ht_zeros_like(NULL) == NULL ? ht_error_get(NULL) : HT_SUCCESS;
}

static ht_status null_left(ht_tensor *x)
{
    return ht_add(NULL, x) == NULL ? ht_error_get(NULL) : HT_SUCCESS;
}

static ht_status null_right(ht_tensor *x)
{
    return ht_matmul(x, NULL) == NULL ? ht_error_get(NULL) : HT_SUCCESS;
}

static ht_status null_written(ht_tensor *x)
{
    return ht_copy_(NULL, x);
}

static ht_status null_read(ht_tensor *x)
{
    return ht_add_(x, NULL, 1);
}

static ht_status null_sum(ht_tensor *x)
{
    (void)x;
    return ht_sum(NULL, HT_NONE) == NULL ? ht_error_get(NULL) : HT_SUCCESS;
}

static ht_status null_resplit(ht_tensor *x)
{
    (void)x;
    return ht_resplit(NULL, 0) == NULL ? ht_error_get(NULL) : HT_SUCCESS;
}

static ht_status null_equal(ht_tensor *x)
{
    bool same;

    return ht_equal(x, NULL, &same);
}

/* --- Invalid values --- */

static ht_status wide_range(ht_tensor *x)
{
    return ht_uniform_(x, -3e38, 3e38);
}

static ht_status no_dtype(ht_tensor *x)
{
    return ht_rand(ht_tensor_ndim(x), ht_tensor_shape(x), HT_INT32, HT_NONE) == NULL
               ? ht_error_get(NULL)
               : HT_SUCCESS;
}

static ht_status not_a_dtype(ht_tensor *x)
{
    return ht_astype(x, HT_DTYPE_COUNT) == NULL ? ht_error_get(NULL) : HT_SUCCESS;
}

static ht_status other_seed(ht_tensor *x)
{
    ht_tensor *seed = ht_expand_dims(ht_ones_like(x), 0);

    /* without memory for it: NULL would be ones */
    return seed != NULL ? ht_backward_ext(x, seed, true) : ht_error_get(NULL);
}

static ht_tensor *other_shape(ht_tensor *grad, void *user)
{
    (void)user;
    return ht_expand_dims(grad, 0);
}

/* In a new graph, because a backward pass may have reached the other one. */
static ht_status other_replacement(ht_tensor *x)
{
    const int64_t shape[] = {3};
    ht_tensor *leaf = ht_ones(1, shape, HT_FLOAT64, ht_tensor_split(x) == 0 ? 0 : HT_NONE), *y;
    bool was = ht_set_grad_enabled(true);
    ht_status status;

    ht_tensor_set_requires_grad(leaf, true);
    y = ht_mul_scalar(leaf, 2);
    ht_tensor_register_hook(y, other_shape, NULL);
    status = ht_backward(ht_sum(y, HT_NONE));
    ht_set_grad_enabled(was);
    return status;
}

enum { ANY, FLOAT32, PART_OF_GRAPH };
static const struct misuse {
    const char *name;
    ht_status (*call)(ht_tensor *x);
    int needs;
} misuses[] = {{"ht_exp(NULL)", null_unary, ANY},
               {"ht_copy(NULL)", null_copy, ANY},
               {"ht_contiguous(NULL)", null_contiguous, ANY},
               {"ht_zeros_like(NULL)", null_like, ANY},
               {"ht_add(NULL, x)", null_left, ANY},
               {"ht_matmul(x, NULL)", null_right, ANY},
               {"ht_copy_(NULL, x)", null_written, ANY},
               {"ht_add_(x, NULL)", null_read, ANY},
               {"ht_sum(NULL)", null_sum, ANY},
               {"ht_resplit(NULL)", null_resplit, ANY},
               {"ht_equal(x, NULL)", null_equal, ANY},
               {"ht_uniform_ of a range that float32 does not hold", wide_range, FLOAT32},
               {"ht_rand of int32", no_dtype, ANY},
               {"ht_astype to no dtype", not_a_dtype, ANY},
               {"ht_backward_ext a seed of another shape", other_seed, PART_OF_GRAPH},
               {"a hook that gives another shape", other_replacement, ANY}};
enum { MISUSES = sizeof misuses / sizeof *misuses };

static bool fits(struct run *run, const struct variable *x, int needs)
{
    if (needs == FLOAT32)
        return x->a.dtype == HT_FLOAT32;
    return needs == ANY || (run->recording && !x->spent && !x->a.memory->frozen && depends(run, x));
}

static bool generate_misuse(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    s->n[0] = random_below(&run->random, MISUSES);
    return s->arg[0] >= 0 && fits(run, &run->vars[s->arg[0]], misuses[s->n[0]].needs);
}

static struct outcome call_misuse(struct run *run, const struct statement *s)
{
    const struct misuse *misuse = &misuses[s->n[0]];

    if (!fits(run, &run->vars[s->arg[0]], misuse->needs))
        return done(HT_ERR_ARGUMENT);
    return done(misuse->call(tensor_of(run, s, 0)));
}

static int reference_misuse(struct run *run, const struct statement *s, struct array *out)
{
    (void)out;
    if (run->status == HT_SUCCESS)
        fail(run, "%s succeeded", misuses[s->n[0]].name);
    check_gradients(run);
    return WANT_FAILURE;
}

/* --- Errors that the program has not read --- */

static bool generate_unread(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->n[0] = random_below(&run->random, 3);
    return run->recording;
}

/* The first error, after a right call that has come later; n: which one. */
static struct outcome call_unread(struct run *run, const struct statement *s)
{
    const int64_t two[] = {2};
    ht_tensor *x = ht_ones(1, two, HT_FLOAT64, HT_NONE), *loss;
    const char *message;
    ht_status status;

    (void)run;
    ht_tensor_set_requires_grad(x, true);
    loss = ht_sum(ht_mul(x, x), HT_NONE);
    ht_transpose(x, 0, 7);
    if (s->n[0] == 0 && run->recording)
        ht_backward(loss);
    else if (s->n[0] == 1)
        ht_resplit(x, 0);
    else
        ht_sum(x, 0);
    status = ht_error_get(&message);
    if (status != HT_ERR_MEMORY && strstr(message, "ht_transpose") == NULL)
        fail(run, "an error that was not read is gone: %s", message);
    return done(status);
}

static int reference_unread(struct run *run, const struct statement *s, struct array *out)
{
    (void)run;
    (void)s;
    (void)out;
    return WANT_FAILURE;
}

const struct op ops_misuse[] = {
    {"misuse %n(%t)", 6, generate_misuse, call_misuse, reference_misuse, .rules = RULE_SMOOTH},
    {"unread error before call %n", 2, generate_unread, call_unread, reference_unread,
     .rules = RULE_SMOOTH},
    {0}};
