/* SPDX-License-Identifier: MIT
 *
 * Parametrizations: parameters that are computed from other parameters, their originals.
 *
 * A parametrized parameter leaves the parameters of its module. Each forward pass of the module
 * recomputes it, and gradients go to the originals. These are parameters at the path
 * "parametrizations.NAME.original"; several are called "original0", "original1", and so on. An
 * optimizer, a wrapper and a state see the originals, so parametrize a module before they are made.
 * Only the slot of this module is parametrized, not the same tensor elsewhere.
 *
 * No call here is collective, unless its comment says so.
 * Errors: HT_ERR_ARGUMENT for an operand that is NULL, and unless module has a parameter called
 * name. HT_ERR_STATE of calls that add or remove parametrizations inside a wrapper. Calls that add
 * one have the errors of ht_nn_register_parametrization.
 * Source: torch.nn.utils.parametrize, torch.nn.utils.parametrizations. */
#ifndef HT_PARAMETRIZE_H
#define HT_PARAMETRIZE_H

#include "ht/module.h"

HT_BEGIN_DECLS

/* Returns originals from which the forward of parametrization computes value: one tensor, or a list
 * of tensors. All are scoped, and the first original may be value itself. */
typedef ht_value *ht_right_inverse_fn(ht_module *parametrization, ht_tensor *value);

/* Makes the parameter `name` of module the output of parametrization for its originals.
 *
 * On a parameter that has parametrizations already, parametrization takes the output of the last
 * one. The forward of each runs in the call.
 * parametrization: its forward takes the original, or a list of several, and returns one tensor.
 *   Owned by module from now on; released after an error. If an earlier error made it NULL, that
 *   error is returned.
 * right_inverse: gives the originals; NULL: the parameter itself is the original. Only the first
 *   parametrization of a parameter uses it.
 * Errors: HT_ERR_ARGUMENT if something else in module is called "parametrizations", if the
 * parameter is an original, or if right_inverse gives neither a tensor nor a list of at least two.
 * HT_ERR_SHAPE unless the output has the shape and dtype of the parameter. Errors of the forward.
 * Source: torch.nn.utils.parametrize.register_parametrization. */
HT_API ht_status ht_nn_register_parametrization(ht_module *module, const char *name,
                                                ht_module *parametrization,
                                                ht_right_inverse_fn *right_inverse);

/* Returns whether the parameter `name` of module is parametrized; false, without an error, for NULL
 * and for another name.
 *
 * name: NULL asks for any parameter.
 * Source: torch.nn.utils.parametrize.is_parametrized. */
HT_API bool ht_nn_is_parametrized(ht_module *module, const char *name);

/* Computes and returns the current value of the parametrized parameter `name` of module.
 *
 * In training, the call changes what a forward pass changes, such as the buffers of
 * ht_nn_spectral_norm.
 * Differentiable.
 * Result: scoped.
 * Errors: HT_ERR_ARGUMENT unless the parameter is parametrized. */
HT_API ht_tensor *ht_nn_parametrized(ht_module *module, const char *name);

/* Makes `name` a parameter of module again, without all of its parametrizations.
 *
 * leave_parametrized: true gives it the value that the parametrizations compute; false gives it the
 *   value of the original. If there is one original, that tensor becomes the parameter, so an
 *   optimizer keeps it.
 * Errors: HT_ERR_ARGUMENT unless the parameter is parametrized, and for false if there are several
 * originals.
 * Source: torch.nn.utils.parametrize.remove_parametrizations. */
HT_API ht_status ht_nn_remove_parametrizations(ht_module *module, const char *name,
                                               bool leave_parametrized);

/* Parametrizes the parameter `name` of module by its norm g and a direction v: g v / |v|.
 *
 * original0 is g, and original1 is v, which begins as the parameter.
 * dim: norms are taken over all axes except dim; HT_NONE: one norm of all elements. Default 0.
 * Errors: HT_ERR_ARGUMENT for an axis that the parameter lacks.
 * Source: torch.nn.utils.parametrizations.weight_norm. */
HT_API ht_status ht_nn_weight_norm(ht_module *module, const char *name, int dim);

/* Parametrizes the parameter `name` of module as W / sigma(W), sigma being the largest singular
 * value of the matrix W.
 *
 * Each forward pass in training makes one power iteration, and keeps the singular vectors in the
 * buffers "_u" and "_v". A vector is divided by its norm.
 * Source: torch.nn.utils.parametrizations.spectral_norm. */
HT_API ht_status ht_nn_spectral_norm(ht_module *module, const char *name);

/* ht_nn_spectral_norm of the parameter `name` of module, with all settings.
 *
 * n_power_iterations: in each forward pass in training, at least 1. Default 1.
 * eps: norms below eps count as eps; finite, at least 0. Default 1e-12.
 * dim: the axis of the rows of the matrix; all other axes are its columns. HT_NONE: 1 for a
 *   transposed convolution, else 0.
 * Errors: HT_ERR_ARGUMENT for a setting out of its range, or an axis that the parameter lacks. */
HT_API ht_status ht_nn_spectral_norm_ext(ht_module *module, const char *name,
                                         int64_t n_power_iterations, double eps, int dim);

/* How a matrix X (n, k) with n >= k becomes one with orthonormal columns. */
typedef enum ht_orthogonal_map {
    HT_ORTHOGONAL_CAYLEY,      /* (1 - A / 2)^-1 (1 + A / 2), A = X - X^T of X's lower triangle */
    HT_ORTHOGONAL_HOUSEHOLDER, /* the reflections by the columns below X's diagonal */
    HT_ORTHOGONAL_MATRIX_EXP   /* e^A of the same A */
} ht_orthogonal_map;

/* Parametrizes the matrix `name` of module by one with orthonormal columns, or rows if it is wide.
 *
 * The value is B f(X) of a tall matrix, and its transpose of a wide one. The original X has the
 * shape of the parameter. It begins as -1, for which f(X) is 1. The buffer "base" is B, a square
 * matrix of the longer side: q of ht_qr of the parameter's columns (of its transpose if it is
 * wide). Columns from the normal distribution, drawn from the seed of ht_nn_seed, complete them.
 * map: f. torch's default is HT_ORTHOGONAL_MATRIX_EXP for a square matrix, and
 *   HT_ORTHOGONAL_HOUSEHOLDER for others.
 * Errors: HT_ERR_SHAPE unless the parameter is a matrix; HT_ERR_DTYPE unless it is float32 or
 * float64; HT_ERR_STATE if it is parametrized; HT_ERR_ARGUMENT for another map.
 * Source: torch.nn.utils.parametrizations.orthogonal. */
HT_API ht_status ht_nn_orthogonal(ht_module *module, const char *name, ht_orthogonal_map map);

HT_END_DECLS
#endif
