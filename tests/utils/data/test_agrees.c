/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Models, optimizers, loaders, callbacks: what one rank alone passes wrongly, or fails at, fails on
 * all ranks. */
#include "ht_test.h"

#include <math.h>

#include "../../agrees.h"
#include "files.h"

enum { ROWS = 40, IN = 3 };

static const char *const names[] = {"x", "y"};

/* The status of a call that made something or, with an error, did not. */
static ht_status made(void *object)
{
    ht_release(object);
    return object != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_value *parameters(int64_t length, ht_dtype dtype)
{
    ht_tensor *x = ht_full(1, &length, 1, dtype, HT_LOCAL);

    ht_tensor_set_requires_grad(x, dtype != HT_INT32);
    return ht_value_tensors(1, &x);
}

static ht_status average_nothing(bool odd)
{
    return ht_average_parameters(odd ? NULL : parameters(IN, HT_FLOAT32), HT_COMM_WORLD);
}

static ht_status average_another_dtype(bool odd)
{
    return ht_average_parameters(parameters(IN, odd ? HT_INT32 : HT_FLOAT32), HT_COMM_WORLD);
}

static ht_hierarchical_averager *averager(const int64_t *periods)
{
    return ht_hierarchical_averager_new(HT_COMM_WORLD, 1, periods, &ht_test_size, 0);
}

static ht_status new_averager(bool odd)
{
    return made(averager(odd ? NULL : (int64_t[]){1}));
}

/* The first average finds memory made for it; the second, with the same list, has it. */
static ht_status average_later(bool odd)
{
    ht_hierarchical_averager *each = averager((int64_t[]){1});
    ht_value *list = parameters(IN, HT_FLOAT32);
    ht_status status = ht_hierarchical_averager_average_parameters(each, list);

    assert_int_equal(status, HT_SUCCESS);
    status = ht_hierarchical_averager_average_parameters(each, odd ? NULL : list);
    assert_int_equal(ht_hierarchical_averager_average_parameters(each, list), HT_SUCCESS);
    ht_release(each);
    return status;
}

static ht_module *new_net(void)
{
    return ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(IN, 2), ht_nn_linear(2, 2)));
}

static ht_status data_parallel(bool odd)
{
    ht_module *net = new_net();
    ht_status status = made(ht_nn_data_parallel(odd ? NULL : net, HT_COMM_WORLD, NULL, true));

    ht_release(net);
    return status;
}

static ht_status data_parallel_options(bool odd)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *net = new_net();
    ht_status status;

    options.size -= odd;
    status = made(ht_nn_data_parallel_ext(net, HT_COMM_WORLD, NULL, &options));
    ht_release(net);
    return status;
}

static ht_status separate(bool odd)
{
    ht_module *net = new_net();
    ht_status status = ht_nn_data_parallel_separate(odd ? NULL : net, HT_COMM_WORLD, 0, NULL, NULL);

    ht_release(net);
    return status;
}

static ht_status separate_optimizers(bool odd)
{
    ht_module *net = new_net();
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);
    ht_optimizer *none = NULL;
    ht_status status = ht_nn_data_parallel_separate(net, HT_COMM_WORLD, 1, odd ? &none : &sgd,
                                                    NULL);

    ht_release(sgd);
    ht_release(net);
    return status;
}

static ht_status auto_model(bool odd)
{
    ht_module *net = new_net();
    ht_status status = made(ht_auto_model(odd ? NULL : net, NULL, false, NULL));

    ht_release(net);
    return status;
}

static ht_status auto_model_devices(bool odd)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *net = new_net();
    ht_status status;

    options.device_ids = (int[]){0};
    options.device_id_count = odd;
    status = made(ht_auto_model(net, NULL, false, &options));
    ht_release(net);
    return status;
}

static ht_status save_checkpoint(bool odd)
{
    return ht_checkpoint_save(odd ? NULL : ht_value_map(), files_path("c.h5"), HT_COMM_WORLD, NULL);
}

static ht_status save_checkpoint_nowhere(bool odd)
{
    return ht_checkpoint_save(ht_value_map(), odd ? NULL : files_path("c.h5"), HT_COMM_WORLD, NULL);
}

static ht_status load_checkpoint(bool odd)
{
    ht_checkpoint_options options = ht_checkpoint_options_default();

    assert_int_equal(ht_checkpoint_save(ht_value_map(), files_path("c.h5"), HT_COMM_WORLD, NULL),
                     HT_SUCCESS);
    options.size -= odd;
    ht_checkpoint_load(files_path("c.h5"), HT_COMM_WORLD, &options);
    return ht_error_get(NULL);
}

static ht_status save_safetensors(bool odd)
{
    ht_module *net = new_net();
    ht_status status = ht_module_save_safetensors(net, odd ? NULL : files_path("m.safetensors"),
                                                  HT_COMM_WORLD);

    ht_release(net);
    return status;
}

static ht_status load_safetensors(bool odd)
{
    ht_module *net = new_net(), *other = ht_nn_linear(IN, 2);
    ht_status status = ht_module_save_safetensors(net, files_path("m.safetensors"), HT_COMM_WORLD);

    assert_int_equal(status, HT_SUCCESS);
    status = ht_module_load_safetensors(odd ? other : net, files_path("m.safetensors"),
                                        HT_COMM_WORLD);
    ht_release(other);
    ht_release(net);
    return status;
}

static ht_status save_module(bool odd)
{
    ht_module *net = new_net();
    ht_status status = ht_module_save_state(odd ? NULL : net, files_path("m.h5"), HT_COMM_WORLD);

    ht_release(net);
    return status;
}

/* One that has lost a layer on one rank. */
static ht_status load_module(bool odd)
{
    ht_module *net = new_net(), *other = ht_nn_linear(IN, 2);
    ht_status status = ht_module_save_state(net, files_path("m.h5"), HT_COMM_WORLD);

    assert_int_equal(status, HT_SUCCESS);
    status = ht_module_load_state(odd ? other : net, files_path("m.h5"), HT_COMM_WORLD);
    ht_release(other);
    ht_release(net);
    return status;
}

static ht_status load_random(bool odd)
{
    ht_module *net = ht_nn_dropout(0.5);
    ht_value *state = ht_nn_random_state_dict(net, HT_COMM_WORLD);
    ht_status status = ht_nn_random_load_state_dict(net, odd ? ht_value_map() : state,
                                                    HT_COMM_WORLD);

    ht_release(net);
    return status;
}

static ht_status open_dataset(bool odd)
{
    return made(ht_dataset_hdf5(odd ? NULL : files_path("rows.h5"), 2, names, HT_COMM_WORLD));
}

static ht_dataset *rows(void)
{
    return ht_dataset_hdf5(files_path("rows.h5"), 2, names, HT_COMM_WORLD);
}

static ht_status new_loader(bool odd)
{
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_dataset *dataset = rows();
    ht_status status;

    options.queue = odd ? 0 : 2;
    status = made(ht_dataloader_new(dataset, &options));
    ht_release(dataset);
    return status;
}

/* Each rank alone is right; but they would wait for each other. */
static ht_status new_loader_of_other_batches(bool odd)
{
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_dataset *dataset = rows();
    ht_status status;

    options.batch_size = odd && ht_test_size > 1 ? 1 : ROWS;
    options.size -= ht_test_size == 1;
    status = made(ht_dataloader_new(dataset, &options));
    ht_release(dataset);
    return status;
}

static ht_status auto_loader(bool odd)
{
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_dataset *dataset = rows();
    ht_status status;

    options.batch_size = ht_test_size;
    status = made(ht_auto_dataloader(dataset, &options, odd ? (ht_batch_policy)7 : HT_BATCH_EXACT));
    ht_release(dataset);
    return status;
}

static ht_status loader_of_nothing(bool odd)
{
    ht_dataset *dataset = rows();
    ht_status status = made(ht_dataloader_new(odd ? NULL : dataset, NULL));

    ht_release(dataset);
    return status;
}

static ht_status auto_loader_of_nothing(bool odd)
{
    ht_dataset *dataset = rows();
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_status status;

    options.batch_size = ht_test_size;
    status = made(ht_auto_dataloader(odd ? NULL : dataset, &options, HT_BATCH_EXACT));
    ht_release(dataset);
    return status;
}

/* The same number of batches, of other rows. */
static ht_status loader_of_other_rows(bool odd)
{
    ht_dataset *dataset = rows();
    ht_status status;

    ht_dataset_limit(dataset, odd && ht_test_size > 1 ? ROWS - 1 : ROWS);
    status = made(ht_dataloader_new(odd && ht_test_size == 1 ? NULL : dataset, NULL));
    ht_release(dataset);
    return status;
}

static ht_status load_loader(bool odd)
{
    ht_dataset *dataset = rows();
    ht_dataloader *loader = ht_dataloader_new(dataset, NULL);
    ht_value *state = ht_dataloader_state_dict(loader);
    ht_status status;

    if (odd)
        ht_value_set(state, "epoch", ht_value_number(-1));
    status = ht_dataloader_load_state_dict(loader, state);
    ht_release(loader);
    ht_release(dataset);
    return status;
}

static ht_status load_another_place(bool odd)
{
    ht_dataset *dataset = rows();
    ht_dataloader *loader = ht_dataloader_new(dataset, NULL);
    ht_value *state = ht_dataloader_state_dict(loader);
    ht_status status;

    if (odd)
        ht_value_set(state, "epoch", ht_value_number(ht_test_size > 1 ? 1 : NAN));
    status = ht_dataloader_load_state_dict(loader, state);
    ht_release(loader);
    ht_release(dataset);
    return status;
}

static ht_tensor *transform(ht_tensor *x, int array, void *odd)
{
    (void)array;
    return *(bool *)odd ? ht_transform_fail("this rank cannot") : x;
}

static ht_status next_batch(bool odd)
{
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_dataset *dataset = rows();
    ht_dataloader *loader;
    ht_status status;
    ht_batch batch;

    options.transform = transform;
    options.user = &odd;
    loader = ht_dataloader_new(dataset, &options);
    assert_false(ht_dataloader_next(loader, &batch));
    status = ht_dataloader_status(loader);
    ht_release(loader);
    ht_release(dataset);
    return status;
}

static ht_status save_here(const char *path, void *odd)
{
    (void)path;
    return *(bool *)odd ? HT_ERR_IO : HT_SUCCESS;
}

static ht_status keep_best(bool odd)
{
    ht_keep_best *best = ht_keep_best_new(files_path("best"), 1, true, save_here, &odd,
                                          HT_COMM_WORLD);
    ht_status status = ht_keep_best_step(best, 0.5, 1);

    ht_release(best);
    return status;
}

static ht_run_log *new_log(bool right)
{
    ht_run_log_options options = ht_run_log_options_default();

    options.size -= !right;
    return ht_run_log_new(&options, HT_COMM_WORLD);
}

static ht_status open_log(bool odd)
{
    return made(new_log(!odd));
}

static ht_value *row(const char *name)
{
    ht_value *map = ht_value_map();

    ht_value_set(map, name, ht_value_number(1));
    return map;
}

static ht_status add_no_row(bool odd)
{
    ht_run_log *log = new_log(true);
    ht_status status = ht_run_log_add(log, odd ? NULL : row("epoch"));

    ht_release(log);
    return status;
}

static ht_status add_another_column(bool odd)
{
    ht_run_log *log = new_log(true);
    ht_status status = ht_run_log_add(log, row("epoch"));

    assert_int_equal(status, HT_SUCCESS);
    status = ht_run_log_add(log, row(odd ? "step" : "epoch"));
    assert_int_equal(ht_run_log_add(log, row("epoch")), HT_SUCCESS);
    ht_release(log);
    return status;
}

static ht_status compute_metric(bool odd)
{
    ht_metric *metric = ht_metric_mean(HT_COMM_WORLD);

    ht_metric_add(metric, 1, odd ? -1 : 1);
    ht_error_clear();
    ht_metric_compute(metric);
    ht_release(metric);
    return ht_error_get(NULL);
}

static ht_status save_metric(bool odd)
{
    ht_metric *metric = ht_metric_mean(HT_COMM_WORLD);

    ht_metric_add(metric, 1, odd ? -1 : 1);
    ht_error_clear();
    ht_metric_state_dict(metric);
    ht_release(metric);
    return ht_error_get(NULL);
}

static ht_status load_metric(bool odd)
{
    ht_metric *metric = ht_metric_mean(HT_COMM_WORLD);
    ht_value *state = ht_metric_state_dict(metric);
    ht_status status = ht_metric_load_state_dict(metric, odd ? NULL : state);

    ht_release(metric);
    return status;
}

static ht_daso *new_daso(ht_module *net, bool right)
{
    ht_daso_options options = ht_daso_options_default();
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);
    ht_daso *daso;

    options.warmup_epochs = options.cooldown_epochs = 1;
    options.local_skip_factor = right ? 4 : 0;
    daso = ht_optim_daso(sgd, 4, HT_COMM_WORLD, &options);
    ht_release(sgd);
    return daso;
}

static ht_status make_daso(bool odd)
{
    ht_module *net = new_net();
    ht_status status = made(new_daso(net, !odd));

    ht_release(net);
    return status;
}

enum daso_call { WRAP, SET_MODEL, SET_LAST_BATCH, SET_LOADER, LOAD_STATE };

static ht_status call_daso(enum daso_call call, bool odd)
{
    ht_module *net = new_net();
    ht_daso *daso = new_daso(net, true);
    ht_value *saved;
    ht_status status = HT_SUCCESS;

    switch (call) {
    case WRAP:
        status = made(ht_nn_data_parallel_multi_gpu(odd ? NULL : net, daso, HT_COMM_WORLD));
        break;
    case SET_MODEL:
        status = ht_daso_set_model(daso, odd ? NULL : net);
        break;
    case SET_LAST_BATCH:
        status = ht_daso_set_last_batch(daso, odd ? -1 : 1);
        break;
    case SET_LOADER:
        status = ht_daso_set_loader(daso, NULL); /* one that is right takes a file */
        break;
    case LOAD_STATE:
        ht_daso_set_model(daso, net);
        saved = ht_daso_state_dict(daso);
        status = ht_daso_load_state_dict(daso, odd ? NULL : saved);
        break;
    }
    ht_release(daso);
    ht_release(net);
    return status;
}

static ht_status wrap_daso(bool odd)
{
    return call_daso(WRAP, odd);
}

static ht_status daso_model(bool odd)
{
    return call_daso(SET_MODEL, odd);
}

static ht_status daso_last_batch(bool odd)
{
    return call_daso(SET_LAST_BATCH, odd);
}

static ht_status daso_loader(bool odd)
{
    return call_daso(SET_LOADER, odd);
}

static ht_status daso_state(bool odd)
{
    return call_daso(LOAD_STATE, odd);
}

static const ht_test_agreed table[] = {
    HT_AGREES(ht_average_parameters, "", average_nothing),
    HT_AGREES(ht_average_parameters, " of another dtype", average_another_dtype),
    HT_AGREES(ht_hierarchical_averager_new, "", new_averager),
    HT_AGREES(ht_hierarchical_averager_average_parameters, "", average_later),
    HT_AGREES(ht_nn_data_parallel, "", data_parallel),
    HT_AGREES(ht_nn_data_parallel_ext, "", data_parallel_options),
    HT_AGREES(ht_nn_data_parallel_separate, "", separate),
    HT_AGREES(ht_nn_data_parallel_separate, " with optimizers", separate_optimizers),
    HT_AGREES(ht_auto_model, "", auto_model),
    HT_AGREES(ht_auto_model, " with devices", auto_model_devices),
    HT_AGREES(ht_checkpoint_save, "", save_checkpoint),
    HT_AGREES(ht_checkpoint_save, " without a path", save_checkpoint_nowhere),
    HT_AGREES(ht_checkpoint_load, "", load_checkpoint),
    HT_AGREES(ht_module_save_state, "", save_module),
    HT_AGREES(ht_module_load_state, "", load_module),
    HT_AGREES(ht_module_save_safetensors, "", save_safetensors),
    HT_AGREES(ht_module_load_safetensors, "", load_safetensors),
    HT_AGREES(ht_nn_random_load_state_dict, "", load_random),
    HT_AGREES(ht_dataset_hdf5, "", open_dataset),
    HT_AGREES(ht_dataloader_new, "", new_loader),
    HT_AGREES(ht_dataloader_new, " of other batches", new_loader_of_other_batches),
    HT_AGREES(ht_dataloader_new, " of nothing", loader_of_nothing),
    HT_AGREES(ht_dataloader_new, " of other rows", loader_of_other_rows),
    HT_AGREES(ht_dataloader_next, "", next_batch),
    HT_AGREES(ht_auto_dataloader, "", auto_loader),
    HT_AGREES(ht_auto_dataloader, " of nothing", auto_loader_of_nothing),
    HT_AGREES(ht_dataloader_load_state_dict, "", load_loader),
    HT_AGREES(ht_dataloader_load_state_dict, " of another epoch", load_another_place),
    HT_AGREES(ht_keep_best_step, "", keep_best),
    HT_AGREES(ht_run_log_new, "", open_log),
    HT_AGREES(ht_run_log_add, "", add_no_row),
    HT_AGREES(ht_run_log_add, " with another column", add_another_column),
    HT_AGREES(ht_metric_compute, "", compute_metric),
    HT_AGREES(ht_metric_state_dict, "", save_metric),
    HT_AGREES(ht_metric_load_state_dict, "", load_metric),
    HT_AGREES(ht_optim_daso, "", make_daso),
    HT_AGREES(ht_nn_data_parallel_multi_gpu, "", wrap_daso),
    HT_AGREES(ht_daso_set_model, "", daso_model),
    HT_AGREES(ht_daso_set_last_batch, "", daso_last_batch),
    HT_AGREES(ht_daso_set_loader, "", daso_loader),
    HT_AGREES(ht_daso_load_state_dict, "", daso_state),
};

static void a_fault_of_one_rank_fails_on_all(void **state)
{
    (void)state;
    files_open();
    files_make("rows.h5", ROWS, ROWS, 8);
    ht_test_agree_all(sizeof table / sizeof *table, table);
    files_remove();
}

HT_TEST_SUITE(test_agrees, cmocka_unit_test(a_fault_of_one_rank_fails_on_all));
