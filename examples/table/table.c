/* SPDX-License-Identifier: MIT
 *
 * Statistics of a CSV file: percentiles, a histogram, rows chosen by a mask, distinct values.
 *     mpirun -n 4 table readings.csv      (writes the file first) */
#include <stdio.h>

#include "ht.h"

/* 2000 readings of five sensors: number of the sensor, temperature. */
static void write_readings(const char *path)
{
    ht_tensor *sensor = ht_randint(0, 5, HT_SHAPE(2000), HT_FLOAT64, 0);
    ht_tensor *warmer = ht_mul_scalar(sensor, 2);
    ht_tensor *temperature = ht_add(warmer, ht_normal(20, 3, HT_SHAPE(2000), HT_FLOAT64, 0));

    ht_save_csv(ht_stack(HT_LIST(ht_tensor *, sensor, temperature), 1), path, "sensor,temperature",
                2, ',');
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "readings.csv";
    const double percents[] = {5, 50, 95};
    ht_tensor *table, *temperature, *hot, *counts, *sensors, *times;

    ht_init(&argc, &argv);
    write_readings(path);
    table = ht_load_csv(path, 1, ',', HT_FLOAT64, 0); /* one line of header */
    temperature = ht_getitem(table, HT_KEY(HT_ALL, 1));
    ht_set_printoptions(2, 1000, 3);
    ht_print(ht_percentile_ext(temperature, 3, percents, 0, HT_LINEAR, false), stdout);

    ht_histogram(temperature, 5, 10, 40, &counts, NULL);
    ht_print(counts, stdout);

    /* table[temperature > 30] */
    hot = ht_getitem(table, HT_KEY(ht_gt(temperature, ht_scalar(30))));
    ht_unique(ht_getitem(hot, HT_KEY(HT_ALL, 0)), &sensors, NULL, &times);
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        printf("%lld readings above 30\n", (long long)ht_tensor_shape(hot)[0]);
    ht_print(sensors, stdout);
    ht_print(times, stdout);
    return ht_finalize();
}
