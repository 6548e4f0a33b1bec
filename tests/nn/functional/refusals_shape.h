/* SPDX-License-Identifier: MIT
 *
 * Refusals of test_operands.c: shuffles and upsampling. */
#ifndef HT_NN_FUNCTIONAL_REFUSALS_SHAPE_H
#define HT_NN_FUNCTIONAL_REFUSALS_SHAPE_H

/* clang-format off */
#define SHAPE_REFUSALS \
    {"ht_pixel_shuffle", "x", ONE_MORE, \
     "length of axis 2 of x (3, 8, 3, 2, 1) is invalid, expected a multiple of 4"}, \
    {"ht_pixel_unshuffle", "x", ONE_MORE, \
     "length of axis 4 of x (3, 2, 4, 6, 1) is invalid, expected a multiple of 2"}
/* clang-format on */

#endif
