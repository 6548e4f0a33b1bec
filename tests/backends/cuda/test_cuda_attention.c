/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Attention of the CUDA module compared with the CPU's, with scores of more than one tile: of
 * several matrices, and of some rows of one. A tile of the emulator is a sixteenth of a GPU's. */
#include <stdlib.h>

#include "cuda_device.h"
#include "tensor_check.h"

enum { OPERANDS = 4 }; /* query, key, value, and a mask of numbers */

typedef struct shape {
    const char *name;
    int64_t batch, heads, groups, l, s, mask_rows; /* groups of heads share keys; 0: no mask */
    bool causal;
    double dropout;
} shape;

static const shape shapes[] = {
    {"several matrices, a mask for all", 2, 6, 6, 176, 250, 176, false, 0.3},
    {"heads that share keys, across tiles", 1, 14, 2, 176, 250, 0, false, 0},
    {"rows of a matrix", 1, 1, 1, 740, 725, 0, true, 0.5},
    {"a mask of one row", 3, 2, 1, 10, 8, 1, false, 0},
};

static shape larger(shape c)
{
    c.l *= 4;
    c.s *= 4;
    if (c.mask_rows > 1)
        c.mask_rows *= 4;
    return c;
}

static ht_tensor *leaf(ht_device *device, uint64_t seed, int ndim, const int64_t dims[])
{
    ht_tensor *x = ht_to_device(ht_test_randn(ndim, dims, HT_FLOAT64, HT_NONE, seed), device);

    ht_tensor_set_requires_grad(x, true);
    return x;
}

/* The output, then the gradients of all operands. */
static void attend(const shape *c, ht_device *device, ht_tensor *out[1 + OPERANDS])
{
    ht_attention_options options = ht_attention_options_default();
    ht_tensor *in[OPERANDS] = {NULL}, *y;

    in[0] = leaf(device, 1, HT_SHAPE(c->batch, c->heads, c->l, 3));
    in[1] = leaf(device, 2, HT_SHAPE(c->batch, c->groups, c->s, 3));
    in[2] = leaf(device, 3, HT_SHAPE(c->batch, c->groups, c->s, 2));
    if (c->mask_rows > 0)
        in[3] = leaf(device, 4, HT_SHAPE(c->mask_rows, c->s));
    options.attn_mask = in[3];
    options.is_causal = c->causal;
    options.dropout_p = c->dropout;
    options.enable_gqa = c->heads != c->groups;
    options.seed = 3;
    y = ht_scaled_dot_product_attention_ext(in[0], in[1], in[2], &options);
    assert_non_null(y);
    assert_int_equal(ht_backward(ht_sum(ht_mul(y, y), HT_NONE)), HT_SUCCESS);
    out[0] = ht_to_device(y, ht_device_get("cpu"));
    for (int i = 0; i < OPERANDS; i++)
        out[1 + i] = in[i] == NULL ? NULL
                                   : ht_to_device(ht_tensor_grad(in[i]), ht_device_get("cpu"));
}

static void tiles_give_what_the_cpu_gives(void **state)
{
    ht_device *device = cuda_device();

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t before = ht_device_fallbacks(device);
        ht_scope *scope = ht_scope_open();
        const shape c = cuda_is_emulated(device) ? shapes[i] : larger(shapes[i]);
        ht_tensor *expected[1 + OPERANDS], *got[1 + OPERANDS];

        print_message("# %s\n", c.name);
        setenv("EMULATED_ORDER", cuda_orders[i % 3], true);
        attend(&c, ht_device_get("cpu"), expected);
        attend(&c, device, got);
        for (int k = 0; k <= OPERANDS; k++)
            if (expected[k] != NULL)
                ht_test_expect_same(got[k], expected[k], 1e-11);
        assert_int_equal(ht_device_fallbacks(device), before);
        ht_scope_close(scope);
    }
    unsetenv("EMULATED_ORDER");
}

HT_TEST_SUITE(test_cuda_attention, cmocka_unit_test(tiles_give_what_the_cpu_gives));
