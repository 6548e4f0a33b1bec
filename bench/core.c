/* SPDX-License-Identifier: MIT
 *
 * Times distributed operations: barrier to barrier, the slowest rank's time, the best of many runs.
 * One line of JSON for each case: {"case", "ranks", "ms"}. Sizes are fixed so that another program
 * can time the same work: 4,000,000 rows of 4 numbers, 1024 x 1024 for products, 10,000,000 numbers
 * for the rest, float32; a million random rows are taken.
 *
 * usage: mpirun -n P bench/core [--repeat N] [CASE ...] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ht.h"

enum { ROWS = 4000000, SIDE = 1024, LENGTH = 10000000 };

static struct operands {
    ht_tensor *rows, *columns, *line, *a0, *a1, *part, *whole, *copied, *written, *chosen;
} x;

/* The limit that the memory sets: 64 MB are read, and written. */
static ht_tensor *copy(void)
{
    memcpy(ht_tensor_mutable_data(x.copied), ht_tensor_data(x.rows),
           (size_t)ht_tensor_nbytes(x.rows));
    return x.copied;
}

/* The limit that the product sets: a rank's part of it, from operands that are all there. */
static ht_tensor *matmul_local(void)
{
    return ht_matmul(x.part, x.whole);
}

static ht_tensor *add(void)
{
    return ht_add(x.line, x.line);
}

static ht_tensor *mul_scalar(void)
{
    return ht_mul_scalar(x.line, 2);
}

static ht_tensor *exponential(void)
{
    return ht_exp(x.line);
}

static ht_tensor *sum_all(void)
{
    return ht_sum(x.line, HT_NONE);
}

static ht_tensor *sum_axis0(void)
{
    return ht_sum(x.rows, 0);
}

static ht_tensor *sum_axis1(void)
{
    return ht_sum(x.rows, 1);
}

static ht_tensor *sum_axis0_of_100(void)
{
    return ht_sum(x.columns, 0);
}

static ht_tensor *mean_axis0(void)
{
    return ht_mean(x.rows, 0);
}

static ht_tensor *std_axis0(void)
{
    return ht_std(x.rows, 0);
}

static ht_tensor *std_all(void)
{
    return ht_std(x.line, HT_NONE);
}

static ht_tensor *std_axis0_of_100(void)
{
    return ht_std(x.columns, 0);
}

static ht_tensor *std_axis1_of_100(void)
{
    return ht_std(x.columns, 1);
}

static ht_tensor *max_axis0(void)
{
    return ht_max(x.rows, 0);
}

static ht_tensor *argmax_axis0(void)
{
    return ht_argmax(x.rows, 0);
}

static ht_tensor *argmax(void)
{
    return ht_argmax(x.line, HT_NONE);
}

static ht_tensor *cumsum(void)
{
    return ht_cumsum(x.line, 0);
}

static ht_tensor *cumsum_axis0(void)
{
    return ht_cumsum(x.rows, 0);
}

static ht_tensor *matmul_00(void)
{
    return ht_matmul(x.a0, x.a0);
}

static ht_tensor *matmul_01(void)
{
    return ht_matmul(x.a0, x.a1);
}

static ht_tensor *matmul_10(void)
{
    return ht_matmul(x.a1, x.a0);
}

static ht_tensor *matmul_11(void)
{
    return ht_matmul(x.a1, x.a1);
}

static ht_tensor *resplit_0_1(void)
{
    return ht_resplit(x.a0, 1);
}

static ht_tensor *resplit_0_none(void)
{
    return ht_resplit(x.a0, HT_NONE);
}

static ht_tensor *transpose_add(void)
{
    return ht_add(ht_transpose(x.a0, 0, 1), x.a1);
}

static ht_tensor *reshape(void)
{
    return ht_reshape(x.rows, HT_SHAPE(ROWS / 2, 8));
}

static ht_tensor *concatenate(void)
{
    return ht_concatenate(HT_LIST(ht_tensor *, x.line, x.line), 0);
}

static ht_tensor *randn(void)
{
    return ht_randn(HT_SHAPE(LENGTH), HT_FLOAT32, 0);
}

static ht_tensor *bool_index(void)
{
    return ht_getitem(x.line, HT_KEY(ht_gt(x.line, ht_scalar(0.5))));
}

static ht_tensor *bool_assign(void)
{
    ht_setitem_(x.written, HT_KEY(ht_gt(x.line, ht_scalar(0.5))), ht_scalar(0));
    return x.written;
}

static ht_tensor *take_rows(void)
{
    return ht_take(x.rows, x.chosen, 0);
}

static const struct bench_case {
    const char *name;
    ht_tensor *(*run)(void);
} cases[] = {{"copy", copy},
             {"matmul_local", matmul_local},
             {"add", add},
             {"mul_scalar", mul_scalar},
             {"exp", exponential},
             {"sum_all", sum_all},
             {"sum_axis0", sum_axis0},
             {"sum_axis1", sum_axis1},
             {"sum_axis0_of_100", sum_axis0_of_100},
             {"mean_axis0", mean_axis0},
             {"std_axis0", std_axis0},
             {"std_all", std_all},
             {"std_axis0_of_100", std_axis0_of_100},
             {"std_axis1_of_100", std_axis1_of_100},
             {"max_axis0", max_axis0},
             {"argmax_axis0", argmax_axis0},
             {"argmax", argmax},
             {"cumsum", cumsum},
             {"cumsum_axis0", cumsum_axis0},
             {"matmul_00", matmul_00},
             {"matmul_01", matmul_01},
             {"matmul_10", matmul_10},
             {"matmul_11", matmul_11},
             {"resplit_0_1", resplit_0_1},
             {"resplit_0_none", resplit_0_none},
             {"transpose_add", transpose_add},
             {"reshape", reshape},
             {"concatenate", concatenate},
             {"randn", randn},
             {"bool_index", bool_index},
             {"bool_assign", bool_assign},
             {"take_rows", take_rows}};

static double best_of(const struct bench_case *bench, int repeat)
{
    double best = 0;

    for (int i = -1; i < repeat; i++) {
        ht_scope *scope = ht_scope_open();
        double ms;

        MPI_Barrier(MPI_COMM_WORLD);
        ms = MPI_Wtime();
        bench->run();
        ms = (MPI_Wtime() - ms) * 1e3;
        MPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        best = i <= 0 || ms < best ? ms : best;
        ht_scope_close(scope);
    }
    return best;
}

static bool asked_for(const char *name, int count, char *names[])
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return count == 0;
}

int main(int argc, char **argv)
{
    int repeat = 20, first = 1;

    if (argc > 2 && strcmp(argv[1], "--repeat") == 0) {
        repeat = atoi(argv[2]);
        first = 3;
    }
    if (ht_init(&argc, &argv) != HT_SUCCESS)
        return 1;
    ht_scope *scope = ht_scope_open();
    ht_random_seed(1);
    x.rows = ht_randn(HT_SHAPE(ROWS, 4), HT_FLOAT32, 0);
    x.columns = ht_reshape(x.rows, HT_SHAPE(ROWS / 25, 100));
    x.line = ht_randn(HT_SHAPE(LENGTH), HT_FLOAT32, 0);
    x.a0 = ht_randn(HT_SHAPE(SIDE, SIDE), HT_FLOAT32, 0);
    x.a1 = ht_randn(HT_SHAPE(SIDE, SIDE), HT_FLOAT32, 1);
    x.part = ht_randn(HT_SHAPE(SIDE / ht_comm_size(HT_COMM_WORLD), SIDE), HT_FLOAT32, HT_NONE);
    x.whole = ht_randn(HT_SHAPE(SIDE, SIDE), HT_FLOAT32, HT_NONE);
    x.copied = ht_zeros(HT_SHAPE(ROWS, 4), HT_FLOAT32, 0);
    x.written = ht_copy(x.line);
    x.chosen = ht_randint(0, ROWS, HT_SHAPE(ROWS / 4), HT_INT64, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!asked_for(cases[i].name, argc - first, argv + first))
            continue;
        double ms = best_of(&cases[i], repeat);

        if (ht_comm_rank(HT_COMM_WORLD) == 0)
            printf("{\"case\": \"%s\", \"ranks\": %d, \"ms\": %.3f}\n", cases[i].name,
                   ht_comm_size(HT_COMM_WORLD), ms);
        fflush(stdout);
    }
    ht_scope_close(scope);
    return ht_finalize();
}
