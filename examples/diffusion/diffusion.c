/* SPDX-License-Identifier: MIT
 *
 * The heat equation in two dimensions by finite differences; ranks exchange rows at their edges:
 *     mpirun -n 4 diffusion */
#include <math.h>
#include <stdio.h>

#include "ht.h"

#define N     65 /* points along each side; the edge stays at 0 */
#define STEPS 500
#define PACE  0.2 /* time step * diffusivity / distance^2; stable up to 0.25 */
#define PI    3.14159265358979323846

static ht_tensor *part(ht_tensor *u, int64_t top, int64_t bottom, int64_t left, int64_t right)
{
    return ht_getitem(u, HT_KEY(ht_slice(top, bottom), ht_slice(left, right)));
}

/* u += PACE * (the sum of the four neighbours - 4 u) inside the edge. */
static void advance(ht_tensor *u)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *own = ht_tensor_local(u);            /* this rank's rows, the memory of u */
    ht_tensor *wide = ht_array_with_halos(u, 1, 1); /* and one row of either neighbour */
    ht_tensor *columns = ht_add(part(wide, HT_OPEN, -2, 1, -1), part(wide, 2, HT_OPEN, 1, -1));
    ht_tensor *rows = ht_add(part(wide, 1, -1, HT_OPEN, -2), part(wide, 1, -1, 2, HT_OPEN));
    ht_tensor *change = ht_sub(ht_add(columns, rows), ht_mul_scalar(part(wide, 1, -1, 1, -1), 4));
    int64_t first = ht_tensor_offset(u) == 0 ? 1 : 0; /* row 0 of u is the edge */

    ht_add_(part(own, first, first + ht_tensor_shape(change)[0], 1, -1), change, PACE);
    ht_scope_close(scope);
}

int main(int argc, char **argv)
{
    ht_tensor *wave, *u;
    double centre, exact = pow(1 - 8 * PACE * pow(sin(PI / 2 / (N - 1)), 2), STEPS);

    ht_init(&argc, &argv);
    wave = ht_sin(ht_linspace(0, PI, N, HT_FLOAT64, 0));
    u = ht_outer(wave, wave, 0); /* split along the rows */
    for (int i = 0; i < STEPS; i++)
        advance(u);
    centre = ht_item(ht_getitem(u, HT_KEY(N / 2, N / 2)));
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        printf("the centre has cooled to %.6f, expected %.6f\n", centre, exact);
    return ht_finalize();
}
