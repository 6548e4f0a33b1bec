/* SPDX-License-Identifier: MIT
 *
 * Layers without parameters that are one function of x, of x and a number, or of x and an axis. */
#include <stddef.h>

#include "ht/nn.h"
#include "ht/trigonometrics.h"
#include "nn/functional/activations.h"

/* The type of each layer lies in the row that says which function it calls. */
typedef struct row {
    ht_module_type type;
    ht_tensor *(*of)(ht_tensor *x);
    ht_tensor *(*of_number)(ht_tensor *x, double number);
    ht_tensor *(*of_axis)(ht_tensor *x, int axis);
} row;

struct setting {
    double number;
    int axis;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    const row *r = (const row *)(const void *)ht_module_get_type(self);
    const struct setting *setting = ht_module_data(self);

    return r->of != NULL          ? r->of(x)
           : r->of_number != NULL ? r->of_number(x, setting->number)
                                  : r->of_axis(x, setting->axis);
}

/* clang-format off */
#define LAYER(f, label, ...) \
    static const row f##_layer = {.type = {.name = label, .forward = forward}, .of = ht_##f}; \
    ht_module *ht_nn_##f(void) { return ht_module_new(0, &f##_layer.type); }

#define LAYER_WITH(f, label, KIND, c_type, field, setting_name, default_value) \
    static const ht_module_setting f##_settings[] = { \
        {#setting_name, offsetof(struct setting, field), HT_SETTING_##KIND, \
         .usual = default_value, .print = HT_PRINT_ALWAYS}, \
        {.name = NULL}}; \
    static const row f##_layer = {.type = {.name = label, .forward = forward, .settings = f##_settings}, \
                          .of_##field = ht_##f}; \
    ht_module *ht_nn_##f(c_type setting_name) { \
        return ht_module_new_ext("ht_nn_" #f, &f##_layer.type, sizeof(struct setting), \
                                 &(struct setting){.field = setting_name}); }
#define LAYER_WITH_NUMBER(f, label, K, keeps, number_name, default_value) \
    LAYER_WITH(f, label, DOUBLE, double, number, number_name, default_value)
/* clang-format on */

HT_ACTIVATIONS(LAYER)
HT_ACTIVATIONS_WITH_NUMBER(LAYER_WITH_NUMBER)
LAYER(tanh, "Tanh")
LAYER_WITH(log_softmax, "LogSoftmax", INT, int, axis, axis, -1)
