/* SPDX-License-Identifier: MIT
 *
 * Convolutions by cuDNN. dnn.c calls the library; tests link a small replacement, which needs no
 * GPU. dnn_plans.c keeps the plan of each convolution. */
#ifndef HT_BACKENDS_CUDA_DNN_H
#define HT_BACKENDS_CUDA_DNN_H

#include "backends/cuda/device.h"

HT_BEGIN_DECLS

enum { HT_CUDA_FORWARD, HT_CUDA_BACKWARD_DATA, HT_CUDA_BACKWARD_WEIGHT };

/* A convolution of dense tensors over 2 or 3 axes. All of them are row-major, x (n, c, in...),
 * weight (o, c / groups, kernel...) and y (n, o, out...), or all have their second axis last. It is
 * compared as bytes, so it has no gaps between its fields. */
typedef struct ht_cuda_conv {
    int dtype, way; /* ht_dtype, HT_CUDA_FORWARD, ... */
    int last, axes;
    int n, c, o, groups;
    int in[3], kernel[3], out[3];
    int stride[3], padding[3], dilation[3];
} ht_cuda_conv;

/* How it is done. */
typedef struct ht_cuda_conv_plan {
    void *handle; /* the library's */
    size_t bytes; /* of its scratch memory */
} ht_cuda_conv_plan;

/* The memory that it reads and writes, at multiples of 16 bytes. `scratch` is a plan's, or NULL if
 * it needs none. */
typedef struct ht_cuda_conv_memory {
    void *x, *weight, *y, *scratch;
} ht_cuda_conv_memory;

/* cuDNN for a stream: as ht_cuda_make_handle (library/handle.h). */
int ht_cuda_dnn_new(void **dnn, void *stream, char *missing);
void ht_cuda_dnn_free(void *dnn);

/* plan->handle is NULL if cuDNN has no way to do this that repeats its bits. */
void ht_cuda_dnn_plan(void *dnn, const ht_cuda_conv *conv, ht_cuda_conv_plan *plan);
void ht_cuda_dnn_plan_free(void *dnn, ht_cuda_conv_plan *plan);

/* Writes the operand that is the result: y, x or weight. `adds`: to what y has, rounded once.
 * *done is false, without an error, if cuDNN does not do it after all; it wrote nothing. */
int ht_cuda_dnn_run(void *dnn, const ht_cuda_conv_plan *plan, const ht_cuda_conv_memory *memory,
                    bool adds, bool *done);

/* Plans of a device, the latest of them. The library is loaded when the first is asked for. */
enum { HT_CUDA_PLANS = 256 };
struct ht_cuda_plans *ht_cuda_plans_new(void);
void ht_cuda_plans_free(struct ht_cuda_plans *plans);

/* The plan for a convolution, for this thread alone until ht_cuda_plans_let. NULL: it is not done by
 * cuDNN, and there is nothing to let. */
const ht_cuda_conv_plan *ht_cuda_plans_take(ht_cuda_device *device, const ht_cuda_conv *conv);
void ht_cuda_plans_let(ht_cuda_device *device);

/* Runs the chosen plan. 0, 1 after services->fail, or HT_KERNEL_REFUSED, now and later. */
int ht_cuda_plans_run(ht_cuda_device *device, const ht_cuda_conv_memory *memory, bool adds,
                      const char *what);

HT_END_DECLS
#endif
