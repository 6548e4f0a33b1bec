/* SPDX-License-Identifier: MIT
 *
 * Upsample: other lengths behind the channels. */
#include <stdio.h>

#include "ht/padding.h"
#include "nn/module/module.h"

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    return ht_upsample(x, ht_module_data(self));
}

static void describe(ht_module *self, char *text, size_t size)
{
    static const char *const modes[] = {"nearest", "nearest-exact", "linear", "cubic"};
    const ht_upsample_options *o = ht_module_data(self);
    char lengths[100];

    if (o->length[0] != 0)
        snprintf(lengths, sizeof lengths, "length=%s", ht__shape_str(3, o->length));
    else
        snprintf(lengths, sizeof lengths, "scale=(%g, %g, %g)", o->scale[0], o->scale[1],
                 o->scale[2]);
    snprintf(text, size, "%s, mode=%s%s", lengths,
             (unsigned)o->mode > HT_UPSAMPLE_CUBIC ? "?" : modes[o->mode],
             o->align_corners ? ", align_corners=true" : "");
}

static const ht_module_type type = {.name = "Upsample", .forward = forward, .describe = describe};

ht_module *ht_nn_upsample(const ht_upsample_options *options)
{
    if (HT_IS_NULL(options, "ht_nn_upsample", "options") ||
        HT_CHECK_OPTIONS(NULL, "ht_nn_upsample", options, ht_upsample_options) != HT_SUCCESS)
        return NULL;
    return ht_module_new_ext("ht_nn_upsample", &type, sizeof *options, options);
}
