/* SPDX-License-Identifier: MIT
 *
 * Inputs of layers that take several tensors. */
#ifndef HT_NN_MODULE_INPUTS_H
#define HT_NN_MODULE_INPUTS_H

#include "ht/value.h"

/* in[] <- the tensors of `inputs`: `required` to `count` of them as a list, or one alone; those
 * that are not there become NULL. False after HT_ERR_ARGUMENT. */
bool ht__inputs(const char *what, const ht_value *inputs, int required, int count, ht_tensor *in[]);

/* The same of inputs with names. The first `tensors` names are those of tensors, of which the first
 * `required` must be there; the others are those of numbers. A list gives tensors in this order; a
 * map gives any of them, and changes numbers[], which come with their defaults. */
typedef struct ht_input_names {
    int tensors, required, numbers;
    const char *const *name;
} ht_input_names;
bool ht__named_inputs(const char *what, const ht_input_names *names, const ht_value *inputs,
                      ht_tensor *in[], double numbers[]);

/* y as a value; NULL stays NULL. */
ht_value *ht__output(ht_tensor *y);

#endif
