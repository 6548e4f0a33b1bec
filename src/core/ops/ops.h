/* SPDX-License-Identifier: MIT
 *
 * Operations without their public names, for higher folders and for each other. */
#ifndef HT_CORE_OPS_OPS_H
#define HT_CORE_OPS_OPS_H

#include "core/tensor/graph.h"
#include "ht/kernels/random.h"
#include "ht/random.h"

/* Whether a number is an integer that int64 has; then *whole is it. A cast of any other double is
 * undefined. */
bool ht__is_whole(double value, int64_t *whole);

/* The number that a double of a short call stands for with a tensor of this dtype: an integral one
 * is an integer if the dtype is integer or bool. */
ht_number ht__number_of_double(ht_dtype dtype, double value);

/* Where the public factory `what` makes its tensor: on the communicator and the device in use
 * (HT_LOCAL: on this rank alone), or on those that the caller gives. comm is NULL after an error.
 */
typedef struct ht_place {
    ht_comm *comm;
    ht_device *device; /* neither is owned */
    int split;
} ht_place;
ht_place ht__place_here(const char *what, int split);
ht_place ht__place_at(const char *what, int split, ht_device *device, ht_comm *comm);
ht_tensor *ht__new_at(const char *what, int ndim, const int64_t shape[], ht_dtype dtype,
                      ht_place place); /* scoped; NULL, too, where there is no place */

/* ht_tensor_item, for a public function `what`. */
ht_status ht__item(const char *what, ht_tensor *x, double *value);

/* The values of x (its local part) as row-major `dtype` in host memory, where ht__body_data is an
 * address: x itself where it is that, else a copy that no graph knows. NULL, and NULL operands,
 * after an error. Scoped. */
ht_tensor *ht__on_host(const char *what, ht_tensor *x, ht_dtype dtype);

/* ht_to_device, by a copy in parallel with the work of the device if possible: what the device is
 * given after ht__ahead_join finds it. */
ht_tensor *ht__to_device_ahead(ht_tensor *x, ht_device *device, ht_side_copy *ahead);

/* Whether the result of an operation may be written to x: not if its kind is higher (bool < integer
 * < floating < complex), because it would be lost. NULL: fails with the error already set. */
ht_status ht__check_result(const char *what, const char *name, const ht_tensor *x,
                           const ht_tensor *result);

/* x, the argument `name`, <- values (NULL: fails with the error already set), in the graph as
 * `values` are. */
ht_status ht__replace_values(const char *what, const char *name, ht_tensor *x, ht_tensor *values);

/* ht_copy_, ht_fill_ext_ and ht_tensor_set_ in the words of `what`; NULL operands as they are for a
 * program. */
ht_status ht__copy_into(const char *what, ht_tensor *x, ht_tensor *y);
ht_status ht__fill_into(const char *what, ht_tensor *x, ht_number value);
ht_status ht__tensor_set(const char *what, ht_tensor *x, ht_tensor *y);

/* HT_ERR_STATE for a view or the result of a recorded operation, which get no other body. */
ht_status ht__check_settable(const char *what, const ht_tensor *x);

/* The conjugate of a complex x; x itself if it is real. PyTorch's gradient of a real loss is
 * dL/d(Re z) + i dL/d(Im z): for w = f(z) that of z is that of w times the conjugate of f'(z). */
ht_tensor *ht__conj(ht_tensor *x);

/* y <- a x + b y: contiguous local parts of one dtype (float32, float64) and length, on one device.
 */
ht_status ht__axpby(const char *what, double a, ht_tensor *x, double b, ht_tensor *y);

/* Without a node: x summed along an axis, which stays with length 1, in the dtype in which partial
 * sums are kept: int64 for integers and bool, else the accumulator's. */
ht_tensor *ht__sum_axis_wide(const char *what, ht_tensor *x, int axis);

/* Without a node: x summed over the axes along which `shape` was broadcast to it, at once. */
ht_tensor *ht__sum_to(const char *what, ht_tensor *x, int ndim, const int64_t shape[]);

/* x / count, also where x's dtype does not hold the count. */
ht_tensor *ht__over_count(ht_tensor *x, int64_t count);

/* A product on the device and of the dtype of c, one unless the job says how many; its operands'
 * addresses are the caller's to fill. */
struct ht_gemm_call;
ht_status ht__gemm(const char *what, const ht_tensor *c, struct ht_gemm_call *job);

/* x + number and x times it, in the words of `what`. */
ht_tensor *ht__add_number(const char *what, ht_tensor *x, ht_number number);
ht_tensor *ht__mul_number(const char *what, ht_tensor *x, ht_number number);

/* ht_scalar_ext of a number that is one, and the dtype that has it as it is. */
ht_tensor *ht__number(ht_number value);
ht_dtype ht__number_dtype(ht_number value);

/* A tensor of one number, without axes and split, on the device and communicator of x. Scoped. */
ht_tensor *ht__number_like(const char *what, const ht_tensor *x, ht_number value, ht_dtype dtype);

/* y; for a number (ht_scalar), a tensor of it on the device and communicator of x, unless x is a
 * number: for functions of tensors, which would find them on different communicators. */
ht_tensor *ht__as_tensor_like(const char *what, ht_tensor *y, const ht_tensor *x);

/* The view `body` of x, in the graph by `backward`, whose node gets a copy of the context. */
ht_tensor *ht__record_view(const char *what, ht_backward_fn *backward, ht_tensor *x, ht_body *body,
                           const void *context, size_t bytes);

/* Zeros in the shape and slabs of x, for the gradient g of a part of it. */
ht_tensor *ht__grad_zeros(const char *what, const ht_body *x, const ht_tensor *g);

/* Whether there are operands, all of them; and ht_concatenate of them, in the words of `what`. */
bool ht__check_operands(const char *what, int count, ht_tensor *const xs[]);
ht_tensor *ht__concatenate(const char *what, int count, ht_tensor *const xs[], int axis);

/* Reverses one axis: a balanced copy if it is split, otherwise a view, or x itself if its length is
 * at most 1. NULL stays NULL. */
ht_tensor *ht__flip_axis(const char *what, ht_tensor *x, int axis);

/* ht_broadcast_to under the name of the call that needs it, and of its argument. */
ht_tensor *ht__broadcast_to(const char *what, const char *name, ht_tensor *x, int ndim,
                            const int64_t shape[]);

/* ht_broadcast_arrays in the words of `what`; xs and broadcast may be one list. */
ht_status ht__broadcast_arrays(const char *what, int count, ht_tensor *const xs[],
                               ht_tensor *broadcast[]);

/* x moved into the split and slabs of `like`, which has its shape; x itself when it fits. */
ht_tensor *ht__match_slabs(const char *what, ht_tensor *x, const ht_body *like);
/* A copy of x in the split and slabs of `like`, which differ from its own. */
ht_tensor *ht__move_slabs(const char *what, ht_tensor *x, const ht_body *like);
/* The metadata of x in the split and slabs that `to` describes; owned, NULL after an error. */
typedef ht_body *ht_slabs_fn(const char *what, const ht_body *x, const void *to);
/* Moves x there, and its gradient. */
ht_status ht__move_in_place(const char *what, ht_tensor *x, ht_slabs_fn *slabs, const void *to);
/* Begins y <- x between tensors of one shape and dtype, both split, which share no memory. Owned;
 * for ht_wait. */
ht_request *ht__post_slabs(const char *what, ht_tensor *x, ht_tensor *y);

/* HT_ERR_ARGUMENT unless x's dtype holds a range of uniform numbers (random.c). */
ht_status ht__random_check_range(const char *what, const ht_body *x, double low, double high);

/* x <- random numbers of one draw, keyed by global element index. */
ht_status ht__random_fill(const char *what, ht_tensor *x, ht_kernel kernel, uint64_t seed,
                          uint64_t draw, double a, double b);

/* The places of a body's elements in its global tensor: the body is row-major, or not split and
 * dense in another order. There are some. */
void ht__random_place(const ht_body *body, ht_random_draw *random);

/* The seed, and the number of the communicator's next draw, which is taken. */
void ht__random_next(ht_comm *comm, uint64_t *seed, uint64_t *draw);

/* Draws that a communicator has made since the generator was seeded. */
uint64_t ht__random_draws(ht_comm *comm);
void ht__random_set_draws(ht_comm *comm, uint64_t draws);

#endif
