/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* States that lack entries, or have others: refused by all ranks, or loaded as they are. */
#include "daso_test.h"

enum { BATCHES = 6 };

/* In the middle of a cycling epoch: parameters are each rank's own. */
static struct setting set_apart(void)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = set_points(1, HT_FLOAT64, 1, BATCHES, &o);

    ht_comm_set_errhandler(s.comm, HT_ERRORS_RETURN);
    ht_fill_(points_of(&s)->first, ht_test_rank);
    ht_daso_step(s.daso);
    ht_daso_step(s.daso);
    return s;
}

static void refuses(struct setting *s, const ht_value *state, const char *text)
{
    double was = value_of(points_of(s)->first);
    const char *message;

    assert_int_equal(ht_daso_load_state_dict(s->daso, state), HT_ERR_FORMAT);
    ht_error_get(&message);
    assert_string_equal(message, text);
    ht_error_clear();
    assert_true(value_of(points_of(s)->first) == was);
    assert_int_equal(ht_daso_get_report(s->daso).batch, 2);
}

static void damaged_numbers_of_a_state_are_refused(void **state)
{
    static const struct {
        const char *name, *message;
        double value;
    } rows[] = {
        {"batch", "ht_daso_load_state_dict: the state was taken after batch 7 of 6", 7},
        {"epoch", "ht_daso_load_state_dict: the state has no integer \"epoch\" of at least 0", -1},
        {"wait", "ht_daso_load_state_dict: the state has no integer \"wait\" of at least 0", NAN},
        {"sends", "ht_daso_load_state_dict: the state has no integer \"sends\" of at least 0",
         1e300},
        {"updates", "ht_daso_load_state_dict: the state has no integer \"updates\" of at least 0",
         0.5},
        {"elements",
         "ht_daso_load_state_dict: the state is of a model with 6 trainable elements, this one has "
         "5",
         6},
        {"ranks", "ht_daso_load_state_dict: the state has no integer \"ranks\" of at least 1", 0},
        {"values", "ht_daso_load_state_dict: the state has no tensor \"values\"", 1},
        {"detector", "ht_daso_load_state_dict: the state has no integer \"maximize\" of at least 0",
         1},
    };
    struct setting s = set_apart();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ht_value *map = ht_daso_state_dict(s.daso);

        /* On one rank alone: the others get the error. */
        if (ht_test_rank == ht_test_size - 1)
            ht_value_set(map, rows[i].name, ht_value_number(rows[i].value));
        refuses(&s, map, rows[i].message);
    }
    end(&s);
}

/* Read as float64, 8 bytes would be taken for each of them. */
static void damaged_tensors_of_a_state_are_refused(void **state)
{
    struct setting s = set_apart();
    ht_value *map = ht_daso_state_dict(s.daso);
    ht_tensor *steps = ht_value_as_tensor(ht_value_get(map, "optimizer_steps"));
    int64_t shape[2] = {ht_test_size, 1};

    (void)state;
    ht_value_set(map, "optimizer_steps", ht_value_tensor(ht_astype(steps, HT_INT8)));
    refuses(&s, map,
            "ht_daso_load_state_dict: \"optimizer_steps\" is int8, expected a floating dtype");
    ht_value_set(map, "optimizer_steps", ht_value_tensor(ht_zeros(2, shape, HT_FLOAT64, HT_NONE)));
    refuses(&s, map,
            ht_test_size == 1
                ? "ht_daso_load_state_dict: \"optimizer_steps\" has 1 elements, expected 2"
            : ht_test_size == 2
                ? "ht_daso_load_state_dict: \"optimizer_steps\" has 2 elements, expected 4"
                : "ht_daso_load_state_dict: \"optimizer_steps\" has 3 elements, expected 6");
    map = ht_daso_state_dict(s.daso);
    ht_value_set(map, "nodes", ht_value_tensor(ht_full(1, shape, 0.5, HT_FLOAT64, HT_NONE)));
    refuses(&s, map, "ht_daso_load_state_dict: rank 0 is on node 0.5 of the state");
    map = ht_daso_state_dict(s.daso);
    ht_fill_(ht_value_as_tensor(ht_value_get(map, "optimizer_steps")), 0.5);
    refuses(&s, map,
            "ht_daso_load_state_dict: \"optimizer_steps\" has 0.5, expected integers of at "
            "least 0");
    map = ht_daso_state_dict(s.daso);
    ht_value_set(ht_value_get(map, "detector"), "patience", ht_value_number(0.5));
    refuses(&s, map,
            "ht_daso_load_state_dict: the state has no integer \"patience\" of at least 0");
    end(&s);
}

static ht_value *on_each_rank(const ht_value *map, const char *name)
{
    ht_tensor *x = ht_value_as_tensor(ht_value_get(map, name));

    return ht_value_tensor(ht_astype(ht_tensor_local(ht_resplit(x, HT_NONE)), HT_FLOAT32));
}

/* As a program has them that reads its file on each rank by itself. */
static void test_all_rows_on_each_rank(void **state)
{
    struct setting s = set_apart();
    ht_value *map = ht_daso_state_dict(s.daso);
    double was = value_of(points_of(&s)->first);

    (void)state;
    ht_value_set(map, "optimizer_steps", on_each_rank(map, "optimizer_steps"));
    ht_value_set(map, "values", on_each_rank(map, "values"));
    ht_fill_(points_of(&s)->first, -1);
    s.optimizer->entries[0].steps = 9;
    assert_int_equal(ht_daso_load_state_dict(s.daso, map), HT_SUCCESS);
    assert_true(fabs(value_of(points_of(&s)->first) - was) < 1e-6 * (1 + was));
    assert_int_equal(s.optimizer->entries[0].steps, 0);
    end(&s);
}

/* Saved before the number of batches was known. */
static void a_state_saved_before_the_first_batch_loads(void **state)
{
    ht_daso_options o = options_of(1, 0, HT_FLOAT32);
    struct setting s = set_points(1, HT_FLOAT64, 1, BATCHES, &o);
    ht_value *map;

    (void)state;
    s.daso->batches = 0;
    map = ht_daso_state_dict(s.daso);
    ht_daso_set_last_batch(s.daso, BATCHES - 1);
    assert_int_equal(ht_daso_load_state_dict(s.daso, map), HT_SUCCESS);
    assert_int_equal(ht_daso_get_report(s.daso).batch, 0);
    end(&s);
}

/* Epochs of another length: from the middle of one there is no going on; at the end there is. */
static void test_epochs_of_another_length(void **state)
{
    struct setting s = set_apart();
    ht_value *map = ht_daso_state_dict(s.daso);

    (void)state;
    s.daso->batches = BATCHES + 1;
    refuses(&s, map,
            "ht_daso_load_state_dict: the state is from an epoch of 6 batches, this run has 7");
    s.daso->batches = BATCHES;
    for (int batch = 2; batch < BATCHES; batch++)
        ht_daso_step(s.daso);
    map = ht_daso_state_dict(s.daso);
    s.daso->batch = 0;
    assert_int_equal(ht_daso_set_last_batch(s.daso, 3), HT_SUCCESS);
    assert_int_equal(ht_daso_load_state_dict(s.daso, map), HT_SUCCESS);
    assert_int_equal(ht_daso_get_report(s.daso).batch, 4);
    assert_int_equal(ht_daso_epoch_loss_logic(s.daso, 1, true), HT_SUCCESS);
    end(&s);
}

HT_TEST_SUITE(test_daso_state_damaged, cmocka_unit_test(damaged_numbers_of_a_state_are_refused),
              cmocka_unit_test(damaged_tensors_of_a_state_are_refused),
              cmocka_unit_test(test_all_rows_on_each_rank),
              cmocka_unit_test(a_state_saved_before_the_first_batch_loads),
              cmocka_unit_test(test_epochs_of_another_length));
