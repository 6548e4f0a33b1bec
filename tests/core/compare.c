/* SPDX-License-Identifier: MIT */
/* Programs whose ranks do not do the same, for tests/core/compare.sh: built as a user builds. */
#include <string.h>

#include "ht.h"

static ht_tensor *local(int64_t rows, ht_dtype dtype)
{
    return ht_ones(HT_SHAPE(rows, 3), dtype, HT_NONE);
}

/* The fault of rank 1 among three ranks; the others make the plain call. */
static void differ(const char *how, bool odd)
{
    ht_comm *world = HT_COMM_WORLD;
    ht_tensor *x = local(4, HT_FLOAT32);

    if (strcmp(how, "operation") == 0 && odd)
        ht_bcast(world, x, 0);
    if (strcmp(how, "skipped") == 0 && ht_comm_rank(world) == 0) /* the usual mistake */
        ht_barrier(world);
    if (strcmp(how, "left") == 0 && odd)
        return;
    if (strcmp(how, "root") == 0)
        ht_bcast(world, x, odd ? 1 : 0);
    if (strcmp(how, "dtype") == 0)
        x = local(4, odd ? HT_FLOAT64 : HT_FLOAT32);
    if (strcmp(how, "shape") == 0)
        x = local(odd ? 5 : 4, HT_FLOAT32);
    if (strcmp(how, "later") == 0) {
        ht_tensor *y = local(odd ? 5 : 4, HT_FLOAT32);
        ht_request *request = ht_iallreduce(world, y, y, HT_OP_SUM);

        ht_wait(&request);
    }
    if (strcmp(how, "counts") == 0) {
        const int64_t counts[2][3] = {{1, 1, 2}, {2, 1, 1}};
        ht_tensor *part = local(ht_comm_rank(world) == 2 ? 2 : 1, HT_FLOAT32);
        ht_request *request = ht_iallgatherv(world, part, x, counts[odd]);

        ht_wait(&request);
    }
    if (strcmp(how, "cut") == 0 && odd)
        ht_recv(world, x, 0, 1);
    if (strcmp(how, "cut") == 0 && ht_comm_rank(world) == 0)
        ht_send(world, local(5, HT_FLOAT32), 1, 1);
    if (strcmp(how, "metric") == 0 && !odd) {
        ht_metric *metric = ht_metric_mean(world);

        ht_metric_compute(metric);
        ht_release(metric);
    }
    if (strcmp(how, "file") == 0 && !odd) {
        ht_use_comm(world);
        ht_load_hdf5("none.h5", "x", HT_FLOAT32, 0);
    }
    if (strcmp(how, "swapped") == 0) {
        ht_tensor *y = local(4, HT_INT32);
        ht_request *requests[] = {ht_iallreduce(world, odd ? y : x, odd ? y : x, HT_OP_MAX),
                                  ht_iallreduce(world, odd ? x : y, odd ? x : y, HT_OP_MAX)};

        ht_wait_all(2, requests);
    }
    ht_allreduce(world, x, x, strcmp(how, "reduction") == 0 && odd ? HT_OP_MAX : HT_OP_SUM);
}

/* The last two of three ranks among themselves. */
static void differ_in_part(void)
{
    int rank = ht_comm_rank(HT_COMM_WORLD);
    ht_comm *part = ht_comm_split(HT_COMM_WORLD, rank > 0, rank);
    ht_tensor *x = local(rank == 2 ? 5 : 4, HT_FLOAT32);

    ht_allreduce(part, x, x, HT_OP_SUM);
    ht_release(part);
}

/* Calls that do not communicate, up to one that does. */
static void differ_logically(const char *how, bool odd)
{
    ht_tensor *x;

    ht_use_comm(HT_COMM_WORLD);
    x = ht_ones(HT_SHAPE(odd && strcmp(how, "ones") == 0 ? 5 : 4, 3), HT_FLOAT32, 0);
    if (strcmp(how, "split") == 0)
        x = ht_resplit(ht_ones(HT_SHAPE(8), HT_FLOAT32, HT_NONE), odd ? HT_NONE : 0);
    if (strcmp(how, "astype") == 0)
        x = ht_astype(x, odd ? HT_FLOAT64 : HT_FLOAT32);
    if (strcmp(how, "more") == 0 && odd)
        x = ht_exp(x);
    if (strcmp(how, "number") == 0 && odd)
        x = ht_mul_scalar(x, 2);
    if (strcmp(how, "written") == 0 && odd)
        ht_fill_(x, 2);
    for (int i = 0; strcmp(how, "endless") == 0 && i < (odd ? 3000 : 2000); i++)
        x = ht_neg(x);
    ht_item(ht_mean(x, HT_NONE));
}

/* A step of training, with buckets as large as the environment says. */
static void train(int steps, bool blocking)
{
    ht_tensor *x = ht_ones(HT_SHAPE(2, 8), HT_FLOAT32, HT_NONE);
    ht_module *net = ht_nn_linear(8, 4);
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, sgd, blocking);

    for (int i = 0; i < steps; i++) {
        ht_backward(ht_sum(ht_forward(dp, x), HT_NONE));
        ht_optimizer_step(sgd);
    }
    ht_release(dp);
    ht_release(sgd);
    ht_release(net);
}

static ht_tensor *trained(ht_tensor *x)
{
    ht_tensor_set_requires_grad(x, true);
    return x;
}

/* Gradients of split batches of two rows: the last of three ranks has none. */
static void pass_without_rows(void)
{
    const int64_t nine = 9;
    ht_tensor *x, *image, *weights[4], *y[4];

    ht_use_comm(HT_COMM_WORLD);
    x = trained(ht_ones(HT_SHAPE(2, 3, 4), HT_FLOAT32, 0));
    image = trained(ht_ones(HT_SHAPE(2, 4, 5, 5), HT_FLOAT32, 0));
    weights[0] = trained(ht_ones(HT_SHAPE(9, 4), HT_FLOAT32, HT_NONE));
    weights[1] = trained(ht_ones(HT_SHAPE(9, 3), HT_FLOAT32, HT_NONE));
    weights[2] = trained(ht_ones(HT_SHAPE(9), HT_FLOAT32, HT_NONE));
    weights[3] = trained(ht_zeros(HT_SHAPE(9), HT_FLOAT32, HT_NONE));
    y[0] = ht_scaled_dot_product_attention(x, x, x);
    y[1] = ht_linear(x, weights[0], weights[2]);
    y[1] = ht_layer_norm(y[1], 1, &nine, weights[2], weights[3], 1e-5);
    y[2] = ht_conv2d(image, trained(ht_ones(HT_SHAPE(2, 4, 3, 3), HT_FLOAT32, HT_NONE)), NULL,
                     NULL);
    y[3] = ht_gru(ht_transpose(x, 0, 1), 4, weights, NULL, NULL, NULL);
    for (int i = 0; i < 4; i++)
        ht_backward(ht_sum(y[i], HT_NONE));
    ht_item(ht_sum(ht_tensor_grad(x), HT_NONE));
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    ht_scope *scope;

    ht_init(&argc, &argv);
    ht_use_comm(HT_COMM_SELF); /* tensors are each rank's own */
    scope = ht_scope_open();
    if (strcmp(how, "mixed") == 0) { /* what passes on one rank only */
        ht_tensor *own = ht_ones(HT_SHAPE(4), HT_FLOAT32, HT_NONE);

        ht_use_comm(HT_COMM_WORLD);
        ht_add(own, ht_ones(HT_SHAPE(4), HT_FLOAT32, HT_NONE));
    }
    if (strcmp(how, "train") == 0)
        train(1, false);
    else if (strcmp(how, "steps") == 0)
        train(ht_comm_rank(HT_COMM_WORLD) == 0 ? 2 : 3, true);
    else if (strcmp(how, "steps unseen") == 0)
        train(ht_comm_rank(HT_COMM_WORLD) == 0 ? 2 : 3, false);
    else if (strcmp(how, "rowless") == 0)
        pass_without_rows();
    else if (strcmp(how, "part") == 0)
        differ_in_part();
    else if (strncmp(how, "logically ", 10) == 0)
        differ_logically(how + 10, ht_comm_rank(HT_COMM_WORLD) == 1);
    else
        differ(how, ht_comm_rank(HT_COMM_WORLD) == 1);
    ht_scope_close(scope);
    return ht_finalize();
}
