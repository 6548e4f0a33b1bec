/* SPDX-License-Identifier: MIT
 *
 * Windows along one axis as a further axis, for functions that are composed of them. */
#ifndef HT_NN_FUNCTIONAL_WINDOW_WINDOWS_H
#define HT_NN_FUNCTIONAL_WINDOW_WINDOWS_H

#include "ht/windows.h"
#include "nn/functional/functional.h"

/* Windows along an axis: element t of window j is at j stride - padding + t dilation. */
typedef struct ht_axis_windows {
    int64_t count, kernel, stride, padding, dilation;
} ht_axis_windows;

/* x with (count, kernel) in the place of `axis`; `fill` outside of x. Differentiable; scoped. */
ht_tensor *ht__axis_windows(ht_tensor *x, int axis, const ht_axis_windows *windows, double fill);

/* Where the elements of the windows stand in x and its padding: int64 (count, kernel), replicated on
 * the device and the ranks of x. Scoped; NULL after an error. */
ht_tensor *ht__window_indices(const ht_tensor *x, const ht_axis_windows *windows);

/* Checks x (N, C, ...) and the options of pooling, and counts the windows of each axis. Strides of
 * 0 become `usual`, or the kernel's where that is 0. HT_ERR_SHAPE or HT_ERR_ARGUMENT else. */
bool ht__pool_windows(const char *what, ht_tensor **x, const ht_pool_options *options,
                      int64_t usual, ht_axis_windows windows[3]);

#endif
