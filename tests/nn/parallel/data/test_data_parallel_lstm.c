/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* A recurrent classifier: P ranks on their parts of each batch against one rank on all of it,
 * blocking and not, and from a checkpoint. */
#include <math.h>

#include "ht.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { BATCH = 6, STEPS = 5, IN = 3, HIDDEN = 4, CLASSES = 3 };

struct classifier {
    ht_module *lstm, *fc;
};

static ht_tensor *classify(ht_module *self, ht_tensor *x)
{
    struct classifier *net = ht_module_data(self);
    ht_recurrent_inputs inputs = ht_recurrent_inputs_default();
    ht_tensor *h_n;

    inputs.lengths = ht_full(HT_SHAPE(ht_tensor_shape(x)[0]), STEPS - 1, HT_INT64, HT_LOCAL);
    if (ht_nn_recurrent_forward(net->lstm, x, &inputs, &h_n, NULL) == NULL)
        return NULL;
    return ht_log_softmax(ht_forward(net->fc, ht_squeeze(ht_narrow(h_n, 0, 1, 2), 0)), 1);
}

static const ht_module_type type = {.name = "classifier", .forward = classify};

static ht_module *new_classifier(void)
{
    ht_module *self = ht_module_new(sizeof(struct classifier), &type);
    struct classifier *net = ht_module_data(self);
    ht_recurrent_options options = ht_recurrent_options_default();

    options.batch_first = true;
    options.num_layers = 2;
    ht_nn_seed(3);
    ht_module_add(self, "lstm", &net->lstm, ht_nn_lstm_ext(IN, HIDDEN, &options));
    ht_module_add(self, "fc", &net->fc, ht_nn_linear(HIDDEN, CLASSES));
    assert_int_equal(ht_module_to_dtype(self, HT_FLOAT64), HT_SUCCESS);
    return self;
}

/* A training run: the network, or what averages its gradients. */
typedef struct training {
    ht_module *net, *model;
    ht_optimizer *optimizer;
    int first, count; /* rows of a batch */
} training;

static training begin(bool parallel, bool blocking)
{
    training t = {.net = new_classifier(), .count = BATCH};

    t.optimizer = ht_optim_adam(ht_module_parameters(t.net), 0.01, NULL);
    t.model = ht_retain(t.net);
    if (!parallel)
        return t;
    ht_release(t.model);
    t.model = ht_nn_data_parallel(t.net, HT_COMM_WORLD, t.optimizer, blocking);
    t.count = BATCH / ht_test_size;
    t.first = ht_test_rank * t.count;
    return t;
}

static void end(training *t)
{
    ht_release(t->model);
    ht_release(t->optimizer);
    ht_release(t->net);
}

static void train(training *t, int from, int to)
{
    for (int step = from; step < to; step++) {
        ht_scope *scope = ht_scope_open();
        double values[BATCH * STEPS * IN];
        int64_t classes[BATCH];
        ht_tensor *y;

        for (int row = 0; row < t->count; row++) {
            const int id = step * BATCH + t->first + row;

            classes[row] = id % CLASSES;
            for (int i = 0; i < STEPS * IN; i++)
                values[row * STEPS * IN + i] = sin(0.7 * id + 0.9 * i * (1 + id % CLASSES));
        }
        assert_int_equal(ht_optimizer_zero_grad(t->optimizer), HT_SUCCESS);
        y = ht_forward(t->model,
                       ht_array(values, HT_SHAPE(t->count, STEPS, IN), HT_FLOAT64, HT_LOCAL));
        assert_int_equal(
            ht_backward(
                ht_nll_loss(y, ht_array(classes, HT_SHAPE(t->count), HT_INT64, HT_LOCAL), HT_MEAN)),
            HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(t->optimizer), HT_SUCCESS);
        ht_scope_close(scope);
    }
}

static void expect_same(ht_module *a, ht_module *b, double tolerance)
{
    ht_scope *scope = ht_scope_open();
    ht_value *as = ht_module_parameters(a), *bs = ht_module_parameters(b);

    assert_int_equal(ht_value_count(as), 10);
    for (int i = 0; i < ht_value_count(as); i++)
        ht_test_expect_same(ht_value_as_tensor(ht_value_at(as, i)),
                            ht_value_as_tensor(ht_value_at(bs, i)), tolerance);
    ht_scope_close(scope);
}

static void ranks_train_as_one(void **state)
{
    training one = begin(false, true), blocking = begin(true, true), free = begin(true, false);

    (void)state;
    train(&one, 0, 10);
    train(&blocking, 0, 10);
    train(&free, 0, 10);
    expect_same(blocking.net, one.net, 1e-10);
    expect_same(free.net, blocking.net, 0);
    end(&one);
    end(&blocking);
    end(&free);
}

static void training_resumes_from_a_checkpoint(void **state)
{
    training whole = begin(true, false), resumed = begin(true, false);
    static const char path[] = "data_parallel_lstm.h5";
    ht_value *saved = ht_value_map(), *loaded;

    (void)state;
    train(&whole, 0, 3);
    ht_value_set(saved, "net", ht_module_state_dict(whole.net));
    ht_value_set(saved, "optimizer", ht_optimizer_state_dict(whole.optimizer));
    assert_int_equal(ht_checkpoint_save(saved, path, HT_COMM_WORLD, NULL), HT_SUCCESS);
    loaded = ht_checkpoint_load(path, HT_COMM_WORLD, NULL);
    assert_int_equal(ht_module_load_state_dict(resumed.net, ht_value_get(loaded, "net")),
                     HT_SUCCESS);
    assert_int_equal(
        ht_optimizer_load_state_dict(resumed.optimizer, ht_value_get(loaded, "optimizer")),
        HT_SUCCESS);
    train(&whole, 3, 6);
    train(&resumed, 3, 6);
    expect_same(resumed.net, whole.net, 0);
    ht_test_remove(path);
    end(&whole);
    end(&resumed);
}

HT_TEST_SUITE(test_data_parallel_lstm, cmocka_unit_test(ranks_train_as_one),
              cmocka_unit_test(training_resumes_from_a_checkpoint));
