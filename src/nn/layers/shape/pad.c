/* SPDX-License-Identifier: MIT
 *
 * Padding layers: a mode, and 1 to 3 axes. */
#include <stdio.h>

#include "ht/padding.h"
#include "nn/module/module.h"

struct pad {
    int dims, count;
    int64_t widths[6];
    ht_pad_mode mode;
    double value;
};

static bool check_input(const struct pad *pad, const char *name, const ht_tensor *x)
{
    const int ndim = ht_tensor_ndim(x);

    char expected[40];

    if (pad->mode == HT_PAD_CONSTANT ? ndim >= pad->dims
                                     : ndim == pad->dims + 1 || ndim == pad->dims + 2)
        return true;
    if (pad->mode == HT_PAD_CONSTANT)
        snprintf(expected, sizeof expected, "at least %d", pad->dims);
    else
        snprintf(expected, sizeof expected, "%d or %d", pad->dims + 1, pad->dims + 2);
    HT_FAIL(ht_tensor_comm(x), HT_ERR_SHAPE, "%s: x is %s, expected %s axes", name,
            ht__shape_str(ndim, ht_tensor_shape(x)), expected);
    return false;
}

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    const struct pad *pad = ht_module_data(self);

    if (!check_input(pad, ht_module_get_type(self)->name, x))
        return NULL;
    return ht_pad_ext(x, pad->count, pad->widths, pad->mode, HT_NUM(pad->value));
}

static void describe(ht_module *self, char *text, size_t size)
{
    const struct pad *pad = ht_module_data(self);
    char value[40] = "";

    if (pad->value != 0)
        snprintf(value, sizeof value, ", value=%g", pad->value);
    snprintf(text, size, "%s%s", ht__shape_str(pad->count, pad->widths), value);
}

static ht_module *make(const char *what, const ht_module_type *type, int count,
                       const int64_t widths[], struct pad data)
{
    if (count != 1 && count != 2 * data.dims) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: count is %d, expected 1 or %d", what, count,
                2 * data.dims);
        return NULL;
    }
    if (HT_IS_NULL(widths, what, "widths"))
        return NULL;
    data.count = 2 * data.dims;
    for (int i = 0; i < data.count; i++)
        data.widths[i] = widths[count == 1 ? 0 : i];
    return ht_module_new_ext(what, type, sizeof data, &data);
}

/* clang-format off */
#define PAD(call, label, n, pad_mode, pad_value, ...) \
    static const ht_module_type call##_type = {.name = label, .forward = forward, .describe = describe}; \
    ht_module *ht_nn_##call(int count, const int64_t widths[] __VA_ARGS__) { \
        return make("ht_nn_" #call, &call##_type, count, widths, \
                    (struct pad){.dims = n, .mode = pad_mode, .value = pad_value}); }
#define PADS(stem, label, pad_mode) \
    PAD(stem##_pad1d, label "Pad1d", 1, pad_mode, 0, ) \
    PAD(stem##_pad2d, label "Pad2d", 2, pad_mode, 0, ) \
    PAD(stem##_pad3d, label "Pad3d", 3, pad_mode, 0, )

PADS(reflection, "Reflection", HT_PAD_REFLECT)
PADS(replication, "Replication", HT_PAD_REPLICATE)
PADS(circular, "Circular", HT_PAD_CIRCULAR)
PADS(zero, "Zero", HT_PAD_CONSTANT)
PAD(constant_pad1d, "ConstantPad1d", 1, HT_PAD_CONSTANT, value, , double value)
PAD(constant_pad2d, "ConstantPad2d", 2, HT_PAD_CONSTANT, value, , double value)
PAD(constant_pad3d, "ConstantPad3d", 3, HT_PAD_CONSTANT, value, , double value)
/* clang-format on */
