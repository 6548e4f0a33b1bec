/* SPDX-License-Identifier: MIT
 *
 * A parabola through measurements by least squares, and the residual that it leaves:
 *     mpirun -n 4 fit */
#include <stdio.h>

#include "ht.h"

int main(int argc, char **argv)
{
    const double parabola[] = {1, -2, 3};
    ht_tensor *t, *design, *y, *curve, *residual, *across;
    double spread, largest;

    ht_init(&argc, &argv);
    t = ht_linspace(-1, 1, 1000, HT_FLOAT64, 0);
    design = ht_column_stack(HT_LIST(ht_tensor *, ht_ones_like(t), t, ht_square(t)));
    y = ht_matmul(design, HT_ARRAY(parabola, HT_SHAPE(3), HT_NONE));
    y = ht_add(y, ht_normal(0, 0.1, HT_SHAPE(1000), HT_FLOAT64, 0)); /* 1 - 2 t + 3 t^2 + noise */

    curve = ht_lstsq(design, y); /* three coefficients */
    residual = ht_sub(y, ht_matmul(design, curve));
    spread = ht_item(ht_std(residual, 0));
    across = ht_matmul(ht_transpose(design, 0, 1), residual); /* 0 for the best fit */
    largest = ht_item(ht_max(ht_abs(across), 0));

    ht_set_printoptions(2, 1000, 3);
    ht_print(curve, stdout);
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        printf("residual: standard deviation %.3f, %s to the columns\n", spread,
               largest < 1e-9 ? "orthogonal" : "not orthogonal");
    return ht_finalize();
}
