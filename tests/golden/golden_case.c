/* SPDX-License-Identifier: MIT
 *
 * Runs golden cases. */
#include "golden/golden_case.h"

#include <stdlib.h>
#include <string.h>

#include "ht_test.h"
#include "tensor_check.h"

static int64_t size_of(const golden_tensor *x)
{
    int64_t size = 1;

    for (int i = 0; i < x->ndim; i++)
        size *= x->shape[i];
    return size;
}

static ht_tensor *operand(const golden_tensor *x, ht_dtype dtype, bool split)
{
    const int along = split && x->flags & GOLDEN_SPLIT ? 0 : HT_NONE;
    ht_tensor *made = ht_astype(ht_array(x->data, x->ndim, x->shape, HT_FLOAT64, along),
                                x->flags & GOLDEN_INDEX ? HT_INT64 : dtype);

    if (x->flags & GOLDEN_GRAD)
        ht_tensor_set_requires_grad(made, true);
    return made;
}

/* The gradient of the result, as golden_cases.py has it. */
static ht_tensor *seed_of(const golden_tensor *y)
{
    const int64_t size = size_of(y);
    double *data = calloc((size_t)size + 1, sizeof *data);
    ht_tensor *seed;

    for (int64_t i = 0; i < size; i++)
        data[i] = (double)(i * 7 % 5 - 2) * 0.5 + 0.25;
    seed = ht_array(data, y->ndim, y->shape, HT_FLOAT64, HT_NONE);
    free(data);
    return seed;
}

/* A case in one dtype and split. */
typedef struct run {
    const golden_case *c;
    int number; /* of the case, for messages */
    ht_dtype dtype;
    bool split;
} run;

static bool is_near(double x, double expected, double tolerance)
{
    return x == expected || (isnan(x) && isnan(expected)) ||
           fabs(x - expected) <= tolerance * (1 + fabs(expected));
}

static void expect(const run *r, const char *what, ht_tensor *x, const golden_tensor *like,
                   const double *expected, double tolerance)
{
    const double *values;

    if (x == NULL || ht_tensor_ndim(x) != like->ndim)
        fail_msg("%s, case %d: %s has other axes", r->c->name, r->number, what);
    for (int i = 0; i < like->ndim; i++)
        assert_int_equal(ht_tensor_shape(x)[i], like->shape[i]);
    values = ht_test_values(ht_astype(x, HT_FLOAT64));
    for (int64_t i = 0; i < size_of(like); i++)
        if (!is_near(values[i], expected[i], tolerance))
            fail_msg("%s, case %d, %s%s: %s[%d] is %.17g, expected %.17g", r->c->name, r->number,
                     ht_dtype_name(r->dtype), r->split ? ", split" : "", what, (int)i, values[i],
                     expected[i]);
}

static void check(const run *r, const golden_function *f)
{
    static const char *const names[] = {"grad 0", "grad 1", "grad 2", "grad 3"};
    const double tolerance = r->dtype == HT_FLOAT64 ? 1e-14 : 2e-6;
    const golden_case *c = r->c;
    ht_tensor *in[GOLDEN_OPERANDS] = {NULL}, *y;
    bool differentiable = false;

    for (int i = 0; i < c->count; i++) {
        in[i] = operand(&c->operand[i], r->dtype, r->split);
        differentiable |= (c->operand[i].flags & GOLDEN_GRAD) != 0;
    }
    y = f->call(in, c->number);
    expect(r, "result", y, &c->result, c->result.data, tolerance);
    assert_int_equal(ht_tensor_dtype(y), r->dtype);
    if (f->layer != NULL) {
        ht_module *layer = f->layer(c->number);

        ht_test_expect_same(ht_forward(layer, in[0]), y, 0);
        ht_release(layer);
    }
    if (differentiable)
        assert_int_equal(ht_backward_ext(y, seed_of(&c->result), false), HT_SUCCESS);
    for (int i = 0; i < c->count; i++)
        if (c->operand[i].grad != NULL)
            expect(r, names[i], ht_tensor_grad(in[i]), &c->operand[i], c->operand[i].grad,
                   4 * tolerance);
}

static const golden_function *function_of(const char *name, const golden_function functions[])
{
    for (const golden_function *f = functions; f->name != NULL; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    fail_msg("no function for the case %s", name);
    return NULL;
}

static void expect_a_case(const golden_function *f, const golden_case cases[])
{
    for (const golden_case *c = cases; c->name != NULL; c++)
        if (strcmp(f->name, c->name) == 0)
            return;
    fail_msg("no case for the function %s", f->name);
}

void golden_check(const golden_case cases[], const golden_function functions[])
{
    for (const golden_function *f = functions; f->name != NULL; f++)
        expect_a_case(f, cases);
    for (const golden_case *c = cases; c->name != NULL; c++) {
        const golden_function *f = function_of(c->name, functions);

        for (int i = 0; i < 4; i++) {
            ht_scope *scope = ht_scope_open();
            const run r = {c, (int)(c - cases), i & 1 ? HT_FLOAT32 : HT_FLOAT64, (i & 2) != 0};

            check(&r, f);
            ht_scope_close(scope);
        }
    }
}
