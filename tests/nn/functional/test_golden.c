/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Rows of the table of functionals give PyTorch's values and gradients, unsplit and split. */
#include <string.h>

#include "golden/layers.h"
#include "nn/functionals.h"
#include "nn/nn_test.h"
#include "tensor_check.h"

static const nn_functional *row_of(const struct golden_layer *golden)
{
    int variant = golden->variant;

    for (const nn_functional *f = nn_functionals; f->name != NULL; f++) {
        if (strcmp(f->name, golden->name) == 0 && variant-- == 0)
            return f;
    }
    fail_msg("%s has no variant %d", golden->name, golden->variant);
    return NULL;
}

/* The result and the gradients of the sum of its squares. */
static void check(const struct golden_layer *golden, bool split, ht_dtype dtype, double tolerance)
{
    const nn_functional *f = row_of(golden);
    ht_scope *scope = ht_scope_open();
    ht_tensor *in[NN_OPERANDS] = {NULL}, *y;

    for (int i = 0; i < f->count; i++)
        in[i] = nn_operand_of(f, i, dtype, split && f->operands[i].flags & NN_SPLITS ? 0 : HT_NONE);
    y = f->call(in, f);
    ht_test_expect(ht_astype(y, HT_FLOAT64), golden->y, tolerance);
    assert_int_equal(ht_backward(ht_sum(ht_mul(y, y), HT_NONE)), HT_SUCCESS);
    for (int i = 0; i < f->count; i++) {
        if (golden->grads[i] != NULL)
            ht_test_expect(ht_astype(ht_tensor_grad(in[i]), HT_FLOAT64), golden->grads[i],
                           8 * tolerance);
    }
    ht_scope_close(scope);
}

static void functionals_give_the_values_of_pytorch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden_layers / sizeof *golden_layers; i++) {
        for (int split = 0; split < 2; split++) {
            check(&golden_layers[i], split, HT_FLOAT64, 1e-13);
            check(&golden_layers[i], split, HT_FLOAT32, 4e-6);
        }
    }
}

HT_TEST_SUITE(test_golden, cmocka_unit_test(functionals_give_the_values_of_pytorch));
