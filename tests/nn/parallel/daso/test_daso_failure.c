/* ranks 1 2 3 4 6 */
/* SPDX-License-Identifier: MIT */
/* A batch that fails on one rank: all ranks return its error, from the step of the next exchange at
 * the latest, and nothing waits. */
#include "daso_test.h"
#include "nn/parallel/data/data_parallel_errors.h"

enum { BATCHES = 20, NEVER = BATCHES };

/* The batch that fails on a rank, in a run of one kind. */
struct failing {
    const char *name;
    int warmup;
    int local_skip; /* of a global skip of 8, with a wait of 2; 0: the first cycling epoch's */
    bool momentum;
    int counts; /* losses of an update, by a scaler; 0: there is none */
    ht_dtype wire;
    int batch, other; /* of the last rank, and of the first */
    int told;         /* the batch after which all ranks have the error, on several nodes */
    int passes;       /* backward passes of a batch, of a model with buffers; 0: one, without */
    bool silent;      /* its forward pass fails, and only ht_daso_step follows */
};

static const struct failing kinds[] = {
    {"blocking", 1, 0, false, 0, HT_FLOAT32, 3, NEVER, 3, 0, false},
    {"blocking in 16 bits", 1, 0, false, 0, HT_BFLOAT16, 3, NEVER, 3, 0, false},
    {"blocking, with states", 1, 0, true, 0, HT_FLOAT32, 0, NEVER, 0, 0, false},
    {"before sending", 0, 0, false, 0, HT_FLOAT32, 3, NEVER, 5, 0, false},
    {"as it sends", 0, 0, false, 0, HT_FLOAT32, 4, NEVER, 5, 0, false},
    {"before receiving", 0, 0, false, 0, HT_FLOAT32, 5, NEVER, 9, 0, false},
    {"not averaged", 0, 2, false, 0, HT_FLOAT32, 3, NEVER, 10, 0, false},
    {"on two nodes", 0, 2, false, 0, HT_FLOAT32, 3, 5, 10, 0, false},
    {"in the last batches", 0, 0, false, 0, HT_FLOAT32, BATCHES - 2, NEVER, BATCHES - 1, 0, false},
    {"of a scaler", 1, 0, false, 1, HT_FLOAT32, 3, NEVER, 3, 0, false},
    {"accumulated", 0, 4, false, 2, HT_FLOAT32, 4, NEVER, 10, 0, false},
    {"of buffers", 0, 2, false, 0, HT_FLOAT32, 3, 3, 10, 1, false},
    {"of buffers, in two passes", 0, 2, false, 0, HT_FLOAT32, 3, 3, 10, 2, false},
    {"without a backward pass", 1, 0, false, 0, HT_FLOAT32, 3, NEVER, 3, 0, true},
    {"without one, not averaged", 0, 2, false, 0, HT_FLOAT32, 3, 5, 10, 0, true},
    {"without one, after another", 1, 0, false, 0, HT_FLOAT32, 3, NEVER, 3, 2, true},
    {"without one, of a scaler", 1, 0, false, 1, HT_FLOAT32, 3, NEVER, 3, 0, true},
    {"without one, accumulated", 0, 4, false, 2, HT_FLOAT32, 4, NEVER, 10, 0, true},
};

static void is_finite(const char *name, ht_tensor *x, void *user)
{
    (void)name;
    (void)user;
    assert_true(isfinite(ht_item(ht_sum(ht_detach(x), HT_NONE))));
}

/* Only float32 parameters travel in 16 bits. */
static ht_dtype dtype_of(const struct failing *f)
{
    return f->wire != HT_FLOAT32 ? HT_FLOAT32 : HT_FLOAT64;
}

static ht_status run_pass(struct setting *s, ht_optim_wrapper *scaler, const struct failing *f,
                          bool fails)
{
    const ht_dtype dtype = dtype_of(f);
    ht_tensor *x = ht_astype(batch_rows(4 * ht_test_rank, 4), dtype);
    ht_tensor *y = ht_forward(s->model, fails && f->silent ? ht_narrow(x, 1, 1, IN) : x);
    ht_tensor *loss = y != NULL ? ht_nll_loss(y, batch_classes(4 * ht_test_rank, 4), HT_MEAN)
                                : NULL;

    if (fails && f->silent)
        return HT_SUCCESS;
    if (fails) {
        ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "rank %d lost its loss", ht_test_rank);
        loss = NULL;
    }
    return scaler != NULL ? ht_optim_wrapper_update_params(scaler, loss)
                          : ht_data_parallel_backward(s->model, loss);
}

/* Fails in its last pass. */
static ht_status run_batch(struct setting *s, ht_optim_wrapper *scaler, const struct failing *f,
                           bool fails)
{
    const int passes = f->passes > 0 ? f->passes : 1;
    ht_scope *scope = ht_scope_open();
    ht_status status = HT_SUCCESS;

    if (scaler != NULL)
        ht_optim_wrapper_begin(scaler, s->model);
    else
        ht_daso_zero_grad(s->daso);
    for (int pass = 1; pass <= passes && status == HT_SUCCESS; pass++)
        status = run_pass(s, scaler, f, fails && pass == passes);
    ht_scope_close(scope);
    return status;
}

/* Each rank ends at its first error; the last batch that DASO knows of. */
static int64_t run(struct setting *s, ht_optim_wrapper *scaler, const struct failing *f)
{
    const int fails = ht_test_rank == ht_test_size - 1 ? f->batch
                      : ht_test_rank == 0              ? f->other
                                                       : NEVER;
    ht_status status = HT_SUCCESS, step;

    for (int batch = 0; batch < BATCHES && status == HT_SUCCESS; batch++) {
        status = run_batch(s, scaler, f, batch == fails);
        step = ht_daso_step(s->daso);
        if (status != HT_SUCCESS)
            assert_int_not_equal(step, HT_SUCCESS);
        status = step;
    }
    assert_int_equal(status, f->silent ? HT_ERR_SHAPE : HT_ERR_IO);
    return ht_daso_get_report(s->daso).batch - 1;
}

static void expect_one_message(const struct failing *f)
{
    const char *part = f->silent ? "ht_linear" : "lost its loss";
    char first[512] = "";
    const char *message;

    ht_error_get(&message);
    snprintf(first, sizeof first, "%s", message);
    if (strstr(message, part) == NULL)
        fail_msg("%s: '%s'", f->name, message);
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, ht_comm_mpi(HT_COMM_WORLD));
    assert_string_equal(message, first);
    ht_error_clear();
}

static ht_module *new_net_with_buffers(void)
{
    return ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(IN, OUT),
                                    ht_nn_batch_norm1d(OUT, NULL), ht_nn_log_softmax(1)));
}

static void check(const struct failing *f, int ranks_per_node)
{
    ht_daso_options o = options_of(f->warmup, 0, f->wire);
    ht_optim_wrapper_options w = ht_optim_wrapper_options_default();
    ht_optim_wrapper *scaler = NULL;
    ht_module *net = f->passes > 0 ? new_net_with_buffers() : new_net(3);
    ht_optimizer *optimizer;
    struct setting s;
    int64_t told;

    ht_module_to_dtype(net, dtype_of(f));
    optimizer = new_optimizer(net, f->momentum ? ADAM : SGD);
    o.exchange_momentum = f->momentum;
    s = set_daso(ranks_per_node, net, optimizer, 10, BATCHES, &o);
    if (f->local_skip > 0) {
        s.daso->schedule.global_skip = 8;
        s.daso->schedule.local_skip = f->local_skip;
        s.daso->schedule.wait = 2;
    }
    w.accumulative_counts = f->counts;
    if (f->counts > 0)
        ht_daso_add_scaler(s.daso, scaler = ht_optim_wrapper_new(optimizer, &w));
    told = run(&s, scaler, f);
    expect_one_message(f);
    if (f->told != told)
        fail_msg("%s: told in batch %d, expected %d", f->name, (int)told, f->told);
    assert_int_equal(ht_error_agree(HT_COMM_WORLD, HT_SUCCESS, "all are here"), HT_SUCCESS);
    ht_module_named_parameters(net, is_finite, NULL);
    ht_release(scaler);
    end(&s);
}

static void every_rank_returns_the_error_of_one(void **state)
{
    (void)state;
    set_handlers(HT_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check(&kinds[i], ht_test_size > 2 ? 2 : 1);
    set_handlers(HT_ERRORS_ABORT);
}

/* A rank repeats a forward pass that has failed: it begins one backward pass, as the others do. */
static void a_repeated_forward_pass_fails_no_batch(void **state)
{
    static const struct failing none = {.wire = HT_FLOAT32};
    ht_daso_options o = options_of(1, 0, HT_FLOAT32);
    ht_module *net = new_net(3);
    struct setting s = set_daso(ht_test_size > 2 ? 2 : 1, net, new_optimizer(net, SGD), 10, BATCHES,
                                &o);

    (void)state;
    set_handlers(HT_ERRORS_RETURN);
    for (int batch = 0; batch < 3; batch++) {
        if (ht_test_rank == ht_test_size - 1)
            assert_null(ht_forward(s.model, ht_narrow(batch_rows(0, 4), 1, 1, IN)));
        ht_error_clear();
        assert_int_equal(run_batch(&s, NULL, &none, false), HT_SUCCESS);
        assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
    }
    set_handlers(HT_ERRORS_ABORT);
    end(&s);
}

HT_TEST_SUITE(test_daso_failure, cmocka_unit_test(every_rank_returns_the_error_of_one),
              cmocka_unit_test(a_repeated_forward_pass_fails_no_batch));
