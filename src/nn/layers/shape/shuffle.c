/* SPDX-License-Identifier: MIT
 *
 * PixelShuffle, PixelUnshuffle and ChannelShuffle. */
#include <math.h>

#include "ht/padding.h"
#include "nn/module/module.h"

struct shuffle {
    int64_t number;
};

#define SHUFFLE(call, label, setting)                                                              \
    static ht_tensor *call(ht_module *self, ht_tensor *x)                                          \
    {                                                                                              \
        return ht_##call(x, ((struct shuffle *)ht_module_data(self))->number);                     \
    }                                                                                              \
    static const ht_module_setting call##_settings[] = {                                           \
        {#setting, offsetof(struct shuffle, number), HT_SETTING_INT64, .low = 1, .high = INFINITY, \
         .print = HT_PRINT_ALWAYS},                                                                \
        {.name = NULL}};                                                                           \
    static const ht_module_type call##_type = {                                                    \
        .name = label, .forward = call, .settings = call##_settings};                              \
    ht_module *ht_nn_##call(int64_t setting)                                                       \
    {                                                                                              \
        return ht_module_new_ext("ht_nn_" #call, &call##_type, sizeof(struct shuffle),             \
                                 &(struct shuffle){setting});                                      \
    }

SHUFFLE(pixel_shuffle, "PixelShuffle", factor)
SHUFFLE(pixel_unshuffle, "PixelUnshuffle", factor)
SHUFFLE(channel_shuffle, "ChannelShuffle", groups)
