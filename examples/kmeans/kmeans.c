/* SPDX-License-Identifier: MIT
 *
 * k-means on the rows of an HDF5 data set, by Lloyd's algorithm:
 *     mpirun -n 4 kmeans points.h5      (writes the file first) */
#include <stdio.h>

#include "ht.h"

#define CLUSTERS 3

/* 3000 points around three centres; the same on any number of ranks. */
static void write_points(const char *path)
{
    const float at[CLUSTERS][2] = {{1, 1}, {5, 1}, {1, 5}};
    ht_tensor *centres = HT_ARRAY(at[0], HT_SHAPE(CLUSTERS, 2), HT_NONE);
    ht_tensor *cluster = ht_remainder(ht_arange(0, 3000, 1, HT_INT64, 0), ht_scalar(CLUSTERS));
    ht_tensor *noise = ht_mul_scalar(ht_randn(HT_SHAPE(3000, 2), HT_FLOAT32, 0), 0.5);

    ht_save_hdf5(ht_add(ht_take(centres, cluster, 0), noise), path, "points", "w");
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "points.h5";
    ht_tensor *points, *centres, *size;

    ht_init(&argc, &argv);
    write_points(path);
    points = ht_load_hdf5(path, "points", HT_FLOAT32, 0); /* each rank reads its rows */
    centres = ht_resplit(ht_getitem(points, HT_KEY(ht_slice(0, CLUSTERS))), HT_NONE);
    size = ht_zeros(HT_SHAPE(CLUSTERS), HT_INT64, HT_NONE);
    for (int i = 0; i < 10; i++) {
        ht_scope *step = ht_scope_open();
        ht_tensor *nearest = ht_argmin(ht_cdist(points, centres, false), 1); /* split as points */
        ht_tensor *total = ht_zeros_like(centres);

        ht_add_at_(total, HT_KEY(nearest), points); /* total[nearest] += points */
        ht_copy_(size, ht_bincount(nearest, NULL, CLUSTERS));
        ht_copy_(centres, ht_div(total, ht_expand_dims(size, 1)));
        ht_scope_close(step);
    }
    ht_set_printoptions(2, 1000, 3);
    ht_print(centres, stdout);
    ht_print(size, stdout);
    return ht_finalize();
}
