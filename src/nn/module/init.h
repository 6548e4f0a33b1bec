/* SPDX-License-Identifier: MIT
 *
 * Seeds of initialisation and dropout, shared by the layers. */
#ifndef HT_NN_MODULE_INIT_H
#define HT_NN_MODULE_INIT_H

#include "core/tensor/graph.h"
#include "ht/init.h"
#include "ht/nn.h"

uint64_t ht__nn_seed_get(void);

/* The seed, and how many tensors were initialised since it was set. */
void ht__nn_init_get_state(uint64_t *seed, uint64_t *draws);
void ht__nn_init_set_state(uint64_t seed, uint64_t draws);

/* Checks the tensor of an initialisation; and draws that report errors as `what`. */
ht_status ht__nn_init_check(const char *what, ht_tensor *x);
ht_status ht__nn_init_uniform(const char *what, ht_tensor *x, double low, double high);
ht_status ht__nn_init_normal(const char *what, ht_tensor *x, double mean, double std);

/* Whether a tensor can have this length, and a few such lengths do not overflow; false after an
 * error of the constructor `what`. */
bool ht__nn_check_size(const char *what, const char *name, int64_t size);

/* The seed of the random draws of a layer in training: layers, ranks and replicas differ. */
uint64_t ht__nn_draw_seed(const ht_module *layer);

/* A process-local float32 parameter, uniform in +-bound. Scoped. */
ht_tensor *ht__nn_parameter(int ndim, const int64_t shape[], double bound);

/* A process-local float32 parameter, standard normal. Scoped. */
ht_tensor *ht__nn_normal(int ndim, const int64_t shape[]);

/* A process-local float32 tensor of one value. Scoped. */
ht_tensor *ht__nn_filled(int ndim, const int64_t shape[], double value);

/* Registers weight and bias with a module: parameters of ones and zeros, each unless its slot is
 * NULL. Releases the module and returns NULL after an error. */
ht_module *ht__nn_add_affine(ht_module *module, int ndim, const int64_t shape[], ht_tensor **weight,
                             ht_tensor **bias);

/* The same of a weight and, unless its slot is NULL, a bias of `outputs` numbers, both uniform in
 * +-bound. */
ht_module *ht__nn_add_uniform(ht_module *module, int ndim, const int64_t shape[], int64_t outputs,
                              double bound, ht_tensor **weight, ht_tensor **bias);

#endif
