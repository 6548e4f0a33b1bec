/* SPDX-License-Identifier: MIT
 *
 * Functions that the files of bench/gpu share. */
#ifndef HT_BENCH_GPU_H
#define HT_BENCH_GPU_H

#include "core/tensor/tensor.h"
#include "ht.h"

/* Seconds of a call, the best of some runs. finish: waits for the calls of a run. */
double best_of(void (*call)(void), void (*finish)(void));

/* Seconds of c = a b by cuBLAS itself (cublas.c), for square matrices of float32 or bfloat16 on one
 * device. The device has no other work. Returns 0 without cuBLAS. */
double cublas_seconds(const ht_tensor *a, const ht_tensor *b, const ht_tensor *c);

#endif
