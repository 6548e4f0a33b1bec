/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* What DASO works on: models and loaders that one rank alone has otherwise are told to all. */
#include "daso_test.h"

#include <unistd.h>

static void expect(ht_status status, ht_status code, const char *text)
{
    const char *message;

    assert_int_equal(status, code);
    ht_error_get(&message);
    assert_string_equal(message, text);
    ht_error_clear();
}

/* The world, nodes of one. */
static ht_daso *new_daso(ht_comm *comm, ht_optimizer *optimizer)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    ht_daso *daso = ht_optim_daso(optimizer, 10, comm, &o);

    ht_comm_set_errhandler(comm, HT_ERRORS_RETURN);
    return daso;
}

/* Sums over parameters that do not belong together would go on for a long time. */
static void test_models_of_different_sizes(void **state)
{
    ht_comm *comm = nodes_of(1);
    ht_module *net = ht_nn_linear(3 + (ht_test_rank == 1), 2);
    ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_daso *daso = new_daso(comm, optimizer);

    (void)state;
    if (ht_test_size > 1) {
        expect(ht_daso_set_model(daso, net), HT_ERR_SHAPE,
               "ht_daso_set_model: the parameters have 8 elements (float32) on rank 0, 10 "
               "(float32) on rank 1");
        ht_daso_set_last_batch(daso, 0);
        expect(ht_daso_step(daso), HT_ERR_STATE,
               "ht_daso_step: there is no model; wrap it in ht_nn_data_parallel_multi_gpu");
    }
    ht_release(daso);
    ht_release(optimizer);
    ht_release(net);
    ht_release(comm);
    unsetenv("HT_RANKS_PER_NODE");
}

/* An epoch is as long as the loader's: 7 rows on each rank, 3 in a batch. */
static void test_loader_tells_the_last_batch(void **state)
{
    static const char path[] = "test_daso_model.h5";
    const char *names[] = {"x"};
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    ht_dataloader_options loading = ht_dataloader_options_default();
    struct setting s = set_points(1, HT_FLOAT64, 1, 100, &o);
    bool odd = ht_test_rank == ht_test_size - 1;
    int64_t rows = 7 * ht_test_size;
    ht_dataset *dataset;
    ht_dataloader *loader;

    (void)state;
    ht_save_hdf5(ht_full_on(1, &rows, 1, HT_FLOAT32, 0, ht__device_cpu(), HT_COMM_WORLD), path, "x",
                 "w");
    dataset = ht_dataset_hdf5(path, 1, names, HT_COMM_WORLD);
    loading.batch_size = 3;
    loader = ht_dataloader_new(dataset, &loading);
    assert_int_equal(ht_daso_set_loader(s.daso, loader), HT_SUCCESS);
    for (int batch = 0; batch < 3; batch++) {
        assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
        assert_true(ht_daso_get_report(s.daso).blocking == (batch == 2));
    }
    assert_int_equal(ht_daso_epoch_loss_logic(s.daso, 1, true), HT_SUCCESS);

    ht_comm_set_errhandler(s.comm, HT_ERRORS_RETURN);
    expect(ht_daso_set_loader(s.daso, odd ? NULL : loader), HT_ERR_ARGUMENT,
           "ht_daso_set_loader: the loader is NULL");
    ht_release(loader);
    ht_release(dataset);
    end(&s);
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        unlink(path);
}

HT_TEST_SUITE(test_daso_model, cmocka_unit_test(test_models_of_different_sizes),
              cmocka_unit_test(test_loader_tells_the_last_batch));
