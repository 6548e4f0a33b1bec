/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Layers that draw by ht_rand and its like, in a pass over several virtual devices. */
#include <string.h>

#include "device_parallel_test.h"
#include "ht/gradient_tools.h"
#include "ht/random.h"

enum { ROWS = 32, COLUMNS = 5, DRAWS = 20 };

/* Many draws, so that parts draw at the same time. */
static ht_tensor *draw_all(ht_tensor *in[], void *unused)
{
    const int64_t *shape = ht_tensor_shape(in[0]);
    ht_tensor *x = in[0];

    (void)unused;
    for (int i = 0; i < DRAWS; i++)
        x = ht_mul(ht_exp(x), ht_randn(2, shape, HT_FLOAT64, HT_LOCAL));
    return ht_mul(x, ht_getitem(x, HT_KEY(ht_randperm(shape[0], HT_INT64, HT_LOCAL))));
}

static ht_tensor *draw(ht_module *self, ht_tensor *x)
{
    (void)self;
    return draw_all(&x, NULL);
}

static ht_tensor *draw_again(ht_module *self, ht_tensor *x)
{
    (void)self;
    return ht_recomputed(draw_all, 1, &x, NULL);
}

/* Outputs of two passes, and the gradient of the second one. */
static void run(const ht_module_type *type, double y[2][ROWS * COLUMNS],
                double grad[ROWS * COLUMNS])
{
    ht_module *net = ht_module_new(1, type),
              *wrapped = ht_nn_device_parallel(net, ids, 4, HT_NONE, 0);
    const size_t bytes = ROWS * COLUMNS * sizeof(double);

    ht_random_seed(5);
    for (int pass = 0; pass < 2; pass++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_zeros(HT_SHAPE(ROWS, COLUMNS), HT_FLOAT64, HT_LOCAL), *out;

        ht_tensor_set_requires_grad(x, true);
        out = ht_forward(wrapped, x);
        memcpy(y[pass], ht_test_values(out), bytes);
        assert_int_equal(ht_backward(ht_sum(out, HT_NONE)), HT_SUCCESS);
        memcpy(grad, ht_test_values(ht_tensor_grad(x)), bytes);
        ht_scope_close(scope);
    }
    ht_release(wrapped);
    ht_release(net);
}

static void draws_of_copies_repeat_and_differ(void **state)
{
    static const ht_module_type types[] = {{.name = "Draw", .forward = draw},
                                           {.name = "Draw", .forward = draw_again}};
    static double y[2][ROWS * COLUMNS], grad[ROWS * COLUMNS];
    static double again[2][ROWS * COLUMNS], grad_again[ROWS * COLUMNS];
    enum { PART = ROWS / 4 * COLUMNS };

    needs_all_devices();
    (void)state;
    run(&types[0], y, grad);
    for (int i = 1; i < 4; i++)
        assert_memory_not_equal(y[0], y[0] + i * PART, PART * sizeof **y);
    assert_memory_not_equal(y[0] + PART, y[1] + PART, PART * sizeof **y);
    for (int k = 0; k < 6; k++) {
        run(&types[k % 2], again, grad_again);
        assert_memory_equal(again, y, sizeof y);
        assert_memory_equal(grad_again, grad, sizeof grad);
    }
}

HT_TEST_SUITE(test_device_parallel_random, cmocka_unit_test(draws_of_copies_repeat_and_differ));
