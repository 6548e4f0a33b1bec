/* SPDX-License-Identifier: MIT
 *
 * Initial values of parameters: the functions of torch.nn.init. Two more are in ht/nn.h:
 * ht_nn_init_uniform and ht_nn_init_kaiming_uniform.
 *
 * x is a contiguous tensor of a floating dtype. Its values are drawn from the seed of ht_nn_seed,
 * one draw after another; a split x gets the same values on any number of ranks. For a weight
 * (outputs, inputs, window...), fan_in is inputs times the elements of a window, and fan_out is
 * outputs times these.
 *
 * x may be a leaf that requires gradients, also while gradients are recorded: nothing is recorded.
 * A graph that saved x is out of date then.
 *
 * Logically collective, unless a block says otherwise.
 * Errors: HT_ERR_ARGUMENT for a NULL x, another dtype or layout, and for a number that is not
 * finite or outside of its range. HT_ERR_STATE for an x that cannot be written: a number
 * (ht_scalar) or a read-only view. */
#ifndef HT_INIT_H
#define HT_INIT_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

typedef enum ht_fan_mode { HT_FAN_IN, HT_FAN_OUT } ht_fan_mode;

/* Returns the gain that keeps the variance through a nonlinearity.
 *
 * "linear", "conv1d" to "conv3d", "conv_transpose1d" to "conv_transpose3d" and "sigmoid" have 1,
 * "tanh" 5 / 3, "relu" sqrt(2), "leaky_relu" sqrt(2 / (1 + param^2)), "selu" 3 / 4.
 *
 * nonlinearity: one of these names.
 * param: the negative slope of "leaky_relu"; NaN takes 0.01. Others ignore it.
 * Not collective.
 * Result: NaN after an error.
 * Errors: HT_ERR_ARGUMENT for another name or NULL.
 * Source: torch.nn.init.calculate_gain. */
HT_API double ht_nn_init_calculate_gain(const char *nonlinearity, double param);

/* Draws the elements of x from the normal distribution with this mean and standard deviation.
 *
 * std: at least 0.
 * Source: torch.nn.init.normal_. */
HT_API ht_status ht_nn_init_normal(ht_tensor *x, double mean, double std);

/* Draws the elements of x from the normal distribution with mean and std, cut off outside [low,
 * high].
 *
 * x, mean: see ht_nn_init_normal.
 * std: above 0.
 * low, high: PyTorch's defaults are -2 and 2; low <= high.
 * Collective if x is split.
 * Source: torch.nn.init.trunc_normal_. */
HT_API ht_status ht_nn_init_trunc_normal(ht_tensor *x, double mean, double std, double low,
                                         double high);

/* Sets x to the identity matrix: 1 on the diagonal, 0 elsewhere.
 *
 * x: 2 axes.
 * Errors: HT_ERR_SHAPE for another number of axes.
 * Source: torch.nn.init.eye_. */
HT_API ht_status ht_nn_init_eye(ht_tensor *x);

/* Sets the weight x of a convolution so that it returns its input. The weight is 1 in the middle of
 * the window from each input to the output of the same number, else 0.
 *
 * x: 3 to 5 axes, (outputs, inputs, window...).
 * groups: of the convolution; each returns its inputs. It divides the outputs.
 * Errors: HT_ERR_SHAPE for another number of axes, HT_ERR_ARGUMENT for groups.
 * Source: torch.nn.init.dirac_. */
HT_API ht_status ht_nn_init_dirac(ht_tensor *x, int64_t groups);

/* Draws x uniformly from +-gain sqrt(6 / (fan_in + fan_out)).
 *
 * x: at least 2 axes.
 * gain: PyTorch's default is 1.
 * Errors: HT_ERR_SHAPE for fewer axes.
 * Source: torch.nn.init.xavier_uniform_. */
HT_API ht_status ht_nn_init_xavier_uniform(ht_tensor *x, double gain);

/* Draws x from the normal distribution with mean 0 and std gain sqrt(2 / (fan_in + fan_out)).
 *
 * The arguments and errors are those of ht_nn_init_xavier_uniform.
 * Source: torch.nn.init.xavier_normal_. */
HT_API ht_status ht_nn_init_xavier_normal(ht_tensor *x, double gain);

/* ht_nn_init_kaiming_uniform of x, uniform in +-gain sqrt(3 / fan).
 *
 * a: the negative slope of "leaky_relu"; finite, also if the nonlinearity ignores it.
 * mode: fan is fan_in or fan_out.
 * nonlinearity: gives the gain by ht_nn_init_calculate_gain(nonlinearity, a).
 * Errors: HT_ERR_SHAPE for fewer than 2 axes; HT_ERR_ARGUMENT for another mode or nonlinearity.
 * Source: torch.nn.init.kaiming_uniform_. */
HT_API ht_status ht_nn_init_kaiming_uniform_ext(ht_tensor *x, double a, ht_fan_mode mode,
                                                const char *nonlinearity);

/* Draws x from the normal distribution with mean 0 and std = sqrt(2 / ((1 + a^2) fan_in)). An x
 * without elements stays as it is.
 *
 * Errors: HT_ERR_SHAPE for fewer than 2 axes. */
HT_API ht_status ht_nn_init_kaiming_normal(ht_tensor *x, double a);

/* Draws x from the normal distribution with mean 0 and std gain / sqrt(fan).
 *
 * a, mode, nonlinearity: as for ht_nn_init_kaiming_uniform_ext, with its errors.
 * Source: torch.nn.init.kaiming_normal_. */
HT_API ht_status ht_nn_init_kaiming_normal_ext(ht_tensor *x, double a, ht_fan_mode mode,
                                               const char *nonlinearity);

/* Sets x to a random matrix with orthogonal rows or columns, whichever are fewer, times gain.
 *
 * Every rank computes all of it by ht_qr.
 *
 * x: at least 2 axes; those after the first are one.
 * gain: PyTorch's default is 1.
 * Errors: HT_ERR_SHAPE for fewer axes; HT_ERR_DTYPE for 16 bits.
 * Source: torch.nn.init.orthogonal_. */
HT_API ht_status ht_nn_init_orthogonal(ht_tensor *x, double gain);

/* Draws x from the normal distribution with mean 0 and this std, and sets the part `sparsity` of
 * each column to 0, rounded up.
 *
 * x: 2 axes.
 * sparsity: 0 to 1.
 * std: at least 0; PyTorch's default is 0.01.
 * Collective if x is split by rows.
 * Errors: HT_ERR_SHAPE for another number of axes.
 * Source: torch.nn.init.sparse_. */
HT_API ht_status ht_nn_init_sparse(ht_tensor *x, double sparsity, double std);

HT_END_DECLS
#endif
