/* SPDX-License-Identifier: MIT
 *
 * Principal components of a table by its singular value decomposition:
 *     mpirun -n 4 pca */
#include <stdio.h>

#include "ht.h"

/* 1000 rows of 6 numbers: two hidden variables, mixed, and some noise. Split along the rows. */
static ht_tensor *make_table(void)
{
    const double spread[] = {3, 1};
    ht_tensor *hidden = ht_mul(ht_randn(HT_SHAPE(1000, 2), HT_FLOAT64, 0),
                               HT_ARRAY(spread, HT_SHAPE(2), HT_NONE));
    ht_tensor *mix = ht_randn(HT_SHAPE(2, 6), HT_FLOAT64, HT_NONE);
    ht_tensor *noise = ht_mul_scalar(ht_randn(HT_SHAPE(1000, 6), HT_FLOAT64, 0), 0.1);

    return ht_add(ht_matmul(hidden, mix), noise);
}

int main(int argc, char **argv)
{
    ht_tensor *x, *s, *vh, *explained, *axes, *scores, *rest;
    double error;

    ht_init(&argc, &argv);
    x = make_table();
    x = ht_sub(x, ht_mean(x, 0));
    ht_svd(x, NULL, &s, &vh);
    explained = ht_div(ht_square(s), ht_sum(ht_square(s), 0)); /* the variance of each axis */
    axes = ht_getitem(vh, HT_KEY(ht_slice(0, 2)));
    scores = ht_matmul(x, ht_transpose(axes, 0, 1)); /* (1000, 2), split as x */
    rest = ht_sub(x, ht_matmul(scores, axes));
    error = ht_item(ht_div(ht_norm(rest), ht_norm(x)));

    ht_set_printoptions(3, 1000, 3);
    ht_print(explained, stdout);
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        printf("two components leave %.1f %% of the norm\n", 100 * error);
    return ht_finalize();
}
