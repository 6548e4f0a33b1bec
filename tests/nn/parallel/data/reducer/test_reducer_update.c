/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* A deferred update or a pending average is complete for every access: by any handle, view or map
 * that was made before, to read it or to write to it. Both modes are asked, and have to agree to
 * the bit. And an access to one parameter does not complete the others. */
#include "nn/parallel/data/data_parallel_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nn/parallel/data/data_parallel.h"

enum { MOST = 64 };

/* Tensors that a program has made before step(). */
struct held {
    ht_tensor *weight, *view, *turned, *detached, *alias, *gradient, *part_of_gradient, *momentum;
    ht_value *states;
};

static char file[64];

static int make_file(void **state)
{
    (void)state;
    snprintf(file, sizeof file, "/tmp/ht-test-XXXXXX");
    if (ht_test_rank == 0) {
        int made = mkstemp(file);

        assert_true(made >= 0);
        close(made);
    }
    return ht__comm_bcast_bytes(HT_COMM_WORLD, file, sizeof file, 0, "file") != HT_SUCCESS;
}

static int remove_file(void **state)
{
    (void)state;
    ht_test_remove(file);
    return 0;
}

static ht_tensor *square(double value)
{
    double values[IN * IN];

    for (int i = 0; i < IN * IN; i++)
        values[i] = value;
    return ht_array(values, HT_SHAPE(IN, IN), HT_FLOAT64, HT_LOCAL);
}

static void hold(struct held *held, ht_module *net, ht_optimizer *optimizer)
{
    ht_tensor *weight = ht_module_find_parameter(net, "fc1.weight");

    ht_set_grad_enabled(false);
    held->weight = weight;
    held->view = ht_narrow(weight, 0, 1, 3);
    held->turned = ht_transpose(weight, 0, 1);
    held->detached = ht_detach(weight);
    held->alias = square(0);
    ht_tensor_set_(held->alias, held->detached);
    held->gradient = ht_tensor_grad(weight);
    held->part_of_gradient = ht_narrow(held->gradient, 1, 0, 2);
    held->momentum = ht_optimizer_state(optimizer, 0, "momentum_buffer");
    held->states = ht_value_map();
    ht_value_set(held->states, "model", ht_module_state_dict(net));
    ht_value_set(held->states, "optimizer", ht_optimizer_state_dict(optimizer));
    ht_set_grad_enabled(true);
}

static int keep(ht_tensor *x, double *values)
{
    ht_tensor *flat = ht_contiguous(x);

    assert_non_null(flat);
    assert_true(ht_tensor_lsize(flat) <= MOST);
    memcpy(values, ht_test_data(flat), (size_t)ht_tensor_nbytes(flat));
    return (int)ht_tensor_lsize(flat);
}

static int by_address(struct held *held, double *values)
{
    return keep(held->weight, values);
}

static int by_view(struct held *held, double *values)
{
    return keep(held->view, values);
}

static int by_strided_view(struct held *held, double *values)
{
    return keep(held->turned, values);
}

static int by_detached(struct held *held, double *values)
{
    return keep(held->detached, values);
}

static int by_alias(struct held *held, double *values)
{
    return keep(held->alias, values);
}

static int by_sum(struct held *held, double *values)
{
    return keep(ht_sum(held->view, 0), values);
}

static int by_product(struct held *held, double *values)
{
    return keep(ht_matmul(held->turned, held->detached), values);
}

static int by_dtype(struct held *held, double *values)
{
    return keep(ht_astype(ht_astype(held->view, HT_FLOAT32), HT_FLOAT64), values);
}

static int by_message(struct held *held, double *values)
{
    ht_tensor *sum = square(0);

    assert_int_equal(ht_allreduce(HT_COMM_WORLD, held->detached, sum, HT_OP_SUM), HT_SUCCESS);
    return keep(sum, values);
}

static int by_text(struct held *held, double *values)
{
    char *text = ht_tensor_str(held->view);
    double sum = 0;

    for (const char *at = text; *at != '\0'; at++)
        sum = 31 * fmod(sum, 1e9) + *at;
    free(text);
    *values = sum;
    return 1;
}

static int by_gradient(struct held *held, double *values)
{
    return keep(held->gradient, values);
}

static int by_part_of_gradient(struct held *held, double *values)
{
    return keep(held->part_of_gradient, values);
}

static int by_state(struct held *held, double *values)
{
    return keep(held->momentum, values);
}

/* By one rank alone: parameters are process-local. */
static int saved(ht_tensor *x, double *values)
{
    if (ht_test_rank == 0)
        assert_int_equal(ht_save_hdf5(x, file, "x", "w"), HT_SUCCESS);
    ht_barrier(HT_COMM_WORLD);
    return keep(ht_load_hdf5(file, "x", HT_FLOAT64, HT_NONE), values);
}

static int by_hdf5(struct held *held, double *values)
{
    return saved(held->weight, values);
}

static int by_hdf5_of_gradient(struct held *held, double *values)
{
    return saved(held->gradient, values);
}

static int by_checkpoint(struct held *held, double *values)
{
    ht_value *map;

    assert_int_equal(ht_checkpoint_save(held->states, file, HT_COMM_WORLD, NULL), HT_SUCCESS);
    map = ht_checkpoint_load(file, HT_COMM_WORLD, NULL);
    assert_non_null(map);
    return keep(ht_value_as_tensor(ht_value_get(ht_value_get(map, "model"), "fc1.weight")), values);
}

static int by_checkpoint_of_state(struct held *held, double *values)
{
    ht_value *map;

    assert_int_equal(ht_checkpoint_save(held->states, file, HT_COMM_WORLD, NULL), HT_SUCCESS);
    map = ht_checkpoint_load(file, HT_COMM_WORLD, NULL);
    map = ht_value_at(ht_value_get(ht_value_get(map, "optimizer"), "state"), 0);
    return keep(ht_value_as_tensor(ht_value_get(map, "momentum_buffer")), values);
}

static const struct reader {
    const char *name;
    int (*read)(struct held *held, double *values);
} readers[] = {
    {"address", by_address},
    {"view", by_view},
    {"strided view", by_strided_view},
    {"detached", by_detached},
    {"alias", by_alias},
    {"sum", by_sum},
    {"product", by_product},
    {"dtype", by_dtype},
    {"message", by_message},
    {"text", by_text},
    {"gradient", by_gradient},
    {"part of the gradient", by_part_of_gradient},
    {"optimizer's state", by_state},
    {"HDF5", by_hdf5},
    {"HDF5 of the gradient", by_hdf5_of_gradient},
    {"checkpoint", by_checkpoint},
    {"checkpoint of the optimizer's state", by_checkpoint_of_state},
};

static void halve(ht_tensor *x)
{
    assert_int_equal(ht_mul_scalar_(x, 0.5), HT_SUCCESS);
}

static void write_weight(struct held *held)
{
    halve(held->weight);
}

static void write_view(struct held *held)
{
    halve(held->view);
}

static void write_alias(struct held *held)
{
    assert_int_equal(ht_copy_(held->alias, square(1)), HT_SUCCESS);
}

static void write_address(struct held *held)
{
    double *values = ht_tensor_mutable_data(held->weight);

    if (values == NULL) /* the host cannot reach it */
        write_weight(held);
    else
        values[2] = values[3] + 1;
}

static void write_gradient(struct held *held)
{
    halve(held->gradient);
}

static void write_part_of_gradient(struct held *held)
{
    halve(held->part_of_gradient);
}

static void write_state(struct held *held)
{
    halve(held->momentum);
}

static void write_init(struct held *held)
{
    assert_int_equal(ht_nn_init_uniform(held->weight, -1, 1), HT_SUCCESS);
}

static void write_fill(struct held *held)
{
    assert_int_equal(ht_fill_(held->detached, 0.25), HT_SUCCESS);
}

static void write_broadcast(struct held *held)
{
    assert_int_equal(ht_bcast(HT_COMM_WORLD, held->view, 0), HT_SUCCESS);
}

static void write_set(struct held *held)
{
    assert_int_equal(ht_tensor_set_(held->weight, square(1)), HT_SUCCESS);
}

static const struct writer {
    const char *name;
    void (*write)(struct held *held);
} writers[] = {
    {"parameter", write_weight},
    {"view", write_view},
    {"alias", write_alias},
    {"address", write_address},
    {"gradient", write_gradient},
    {"part of the gradient", write_part_of_gradient},
    {"optimizer's state", write_state},
    {"init", write_init},
    {"fill", write_fill},
    {"broadcast", write_broadcast},
    {"body", write_set},
};

/* One more step than the handles know of; then `read` or `write`, and two more after a write. */
static int go_on(bool blocking, bool own, int (*read)(struct held *, double *),
                 void (*write)(struct held *), double *values)
{
    const struct run run = {.blocking = blocking, .own_gradients = own};
    ht_module *net = new_net(5), *model;
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_scope *scope = ht_scope_open();
    struct held held;
    int count = VALUES;

    model = wrap(net, HT_COMM_WORLD, optimizer, &run);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(backward_rows(model, 4 * (i * ht_test_size + ht_test_rank), 4),
                         HT_SUCCESS);
        if (i == 2) /* buckets were laid out again before */
            hold(&held, net, optimizer);
        ht_optimizer_step(optimizer);
        if (i == 3 && read != NULL) {
            count = read(&held, values);
            break;
        }
        if (i == 3) {
            bool was = ht_set_grad_enabled(false);

            write(&held);
            ht_set_grad_enabled(was);
        }
        ht_optimizer_zero_grad(optimizer);
    }
    if (write != NULL)
        read_parameters(net, values);
    ht_release(model);
    ht_release(net);
    ht_release(optimizer);
    ht_scope_close(scope);
    return count;
}

static void compare(const char *name, int (*read)(struct held *, double *),
                    void (*write)(struct held *))
{
    for (int own = 0; own < 2; own++) {
        double values[2][VALUES];
        int count = go_on(true, own, read, write, values[0]);

        assert_int_equal(go_on(false, own, read, write, values[1]), count);
        if (memcmp(values[0], values[1], (size_t)count * sizeof(double)) != 0)
            fail_msg("%s%s: non-blocking differs from blocking", name,
                     own ? " (gradients that are not views)" : "");
    }
}

static void test_every_reader_sees_the_update(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        compare(readers[i].name, readers[i].read, NULL);
}

static void test_every_writer_writes_after_the_update(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        compare(writers[i].name, NULL, writers[i].write);
}

static int due_of(const ht_reducer *reducer)
{
    int due = 0;

    for (int i = 0; i < reducer->count; i++)
        due += reducer->params[i].due != NULL;
    return due;
}

/* All parameters in one memory, side by side. */
static void flatten(ht_module *net, ht_tensor *all)
{
    ht_value *parameters = ht_module_parameters(net);
    int64_t at = 0;

    ht_set_grad_enabled(false);
    for (int i = 0; i < ht_value_count(parameters); i++) {
        ht_tensor *x = ht_value_as_tensor(ht_value_at(parameters, i));
        ht_tensor *place = ht_reshape(ht_narrow(all, 0, at, at + ht_tensor_size(x)),
                                      ht_tensor_ndim(x), ht_tensor_shape(x));

        at += ht_tensor_size(x);
        assert_int_equal(ht_copy_(place, x), HT_SUCCESS);
        assert_int_equal(ht_tensor_set_(x, place), HT_SUCCESS);
    }
    ht_set_grad_enabled(true);
}

static void one_at_a_time(bool flat)
{
    ht_module *net = new_net(5), *model;
    double zeros[VALUES] = {0};
    ht_tensor *all = ht_array(zeros, HT_SHAPE(VALUES), HT_FLOAT64, HT_LOCAL), *weight, *bias;
    ht_optimizer *optimizer;
    ht_reducer *reducer;
    double sum;

    if (flat)
        flatten(net, all);
    optimizer = new_optimizer(net, SGD);
    model = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    reducer = ((ht_data_parallel *)ht_module_data(model))->reducer;
    weight = ht_module_find_parameter(net, "fc1.weight");
    bias = ht_module_find_parameter(net, "fc1.bias");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(backward_rows(model, 4 * (i * ht_test_size + ht_test_rank), 4),
                         HT_SUCCESS);
        ht_optimizer_step(optimizer);
        assert_int_equal(due_of(reducer), PARAMETERS);
        ht_narrow(ht_transpose(ht_detach(weight), 0, 1), 0, 0, 1); /* views read nothing */
        ht_optimizer_zero_grad(optimizer);
        assert_int_equal(due_of(reducer), PARAMETERS);
        ht_item(ht_sum(ht_narrow(weight, 0, 1, 2), HT_NONE));
        assert_int_equal(due_of(reducer), PARAMETERS - 1);
        ht_test_data(bias);
        assert_int_equal(due_of(reducer), PARAMETERS - 2);
    }
    sum = flat ? ht_item(ht_sum(all, HT_NONE)) : 0; /* of all that lie there */
    assert_false(isnan(sum));
    assert_int_equal(due_of(reducer), flat ? 0 : PARAMETERS - 2);
    ht_release(model);
    ht_release(net);
    ht_release(optimizer);
}

static void test_a_reader_of_one_leaves_the_others(void **state)
{
    (void)state;
    one_at_a_time(false);
}

static void updates_one_at_a_time_in_shared_memory(void **state)
{
    (void)state;
    one_at_a_time(true);
}

HT_TEST_SUITE(test_reducer_update,
              cmocka_unit_test_setup_teardown(test_every_reader_sees_the_update, make_file,
                                              remove_file),
              cmocka_unit_test(test_every_writer_writes_after_the_update),
              cmocka_unit_test(test_a_reader_of_one_leaves_the_others),
              cmocka_unit_test(updates_one_at_a_time_in_shared_memory));
