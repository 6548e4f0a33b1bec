/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Optimizers that look at a parameter as a matrix, against PyTorch: unsplit, and split along each
 * axis. */
#include "ht_test.h"
#include "tensor_check.h"

#include <math.h>
#include <string.h>

#include "golden/optim.h"
#include "ht.h"

enum { STEPS = 10, SIZE = 15 };

static ht_optimizer *adafactor_matrix(ht_value *p)
{
    return ht_optim_adafactor(p, 0.05, NULL);
}

static ht_optimizer *adafactor_options(ht_value *p)
{
    ht_adafactor_options o = ht_adafactor_options_default();

    o.beta2_decay = -0.5;
    o.eps1 = 1e-4;
    o.eps2 = 0.02;
    o.d = 1.5;
    o.weight_decay = 0.1;
    o.maximize = true;
    return ht_optim_adafactor(p, 0.4, &o);
}

static ht_optimizer *muon_wide(ht_value *p)
{
    return ht_optim_muon(p, 0.02, NULL);
}

static ht_optimizer *muon_adamw(ht_value *p)
{
    ht_muon_options o = ht_muon_options_default();

    o.weight_decay = 0;
    o.momentum = 0.8;
    o.nesterov = false;
    o.ns_steps = 3;
    o.adjust_lr = HT_MUON_MATCH_RMS_ADAMW;
    return ht_optim_muon(p, 0.02, &o);
}

static ht_optimizer *muon_spectral(ht_value *p)
{
    ht_muon_options o = ht_muon_options_default();

    o.a = 1.5;
    o.b = -0.5;
    o.c = 0.1;
    o.adjust_lr = HT_MUON_SPECTRAL_UNCLAMPED;
    return ht_optim_muon(p, 0.02, &o);
}

static ht_optimizer *sparse_adam_plain(ht_value *p)
{
    return ht_optim_sparse_adam(p, 0.01, NULL);
}

static ht_optimizer *sparse_adam_options(ht_value *p)
{
    ht_sparse_adam_options o = ht_sparse_adam_options_default();

    o.beta1 = 0.8;
    o.beta2 = 0.95;
    o.eps = 1e-5;
    o.maximize = true;
    return ht_optim_sparse_adam(p, 0.02, &o);
}

/* The cases of tests/golden/make_optim.py. Muon's bound is an eighth of the last digit of bfloat16:
 * ten steps change an element by 0.2 at most, and sums in another order can round otherwise. */
static const struct {
    const char *name;
    ht_optimizer *(*make)(ht_value *p);
    const double *expected;
    double bound;
    int ndim;
    int64_t shape[3];
    bool sparse;
} cases[] = {
    {"adafactor_matrix", adafactor_matrix, golden_adafactor_matrix, 1e-14, 2, {3, 5}, false},
    {"adafactor_options", adafactor_options, golden_adafactor_options, 1e-14, 3, {2, 3, 2}, false},
    {"muon_wide", muon_wide, golden_muon_wide, 5e-4, 2, {3, 5}, false},
    {"muon_tall", muon_wide, golden_muon_tall, 5e-4, 2, {5, 3}, false},
    {"muon_adamw", muon_adamw, golden_muon_adamw, 5e-4, 2, {5, 3}, false},
    {"muon_spectral", muon_spectral, golden_muon_spectral, 5e-4, 2, {3, 5}, false},
    {"sparse_adam_plain", sparse_adam_plain, golden_sparse_adam_plain, 1e-14, 2, {4, 3}, true},
    {"sparse_adam_options",
     sparse_adam_options,
     golden_sparse_adam_options,
     1e-14,
     2,
     {4, 3},
     true},
};
enum { CASES = sizeof cases / sizeof *cases };

static ht_tensor *tensor_of(int index, const double *values, ht_dtype dtype, int split)
{
    return ht_astype(ht_array(values, cases[index].ndim, cases[index].shape, HT_FLOAT64, split),
                     dtype);
}

static int64_t size_of(int index)
{
    int64_t size = 1;

    for (int i = 0; i < cases[index].ndim; i++)
        size *= cases[index].shape[i];
    return size;
}

static ht_tensor *new_parameter(int index, ht_dtype dtype, int split)
{
    double start[SIZE];

    for (int i = 0; i < SIZE; i++)
        start[i] = (i * 3 % 7 - 3) / 4.0;
    return tensor_of(index, start, dtype, split);
}

static void set_gradient(ht_tensor *p, int index, int step, int split)
{
    double values[SIZE];

    for (int i = 0; i < SIZE; i++) {
        const int64_t row = i / cases[index].shape[1];

        values[i] = cases[index].sparse && (row + step) % 3 == 0
                        ? 0
                        : ((i * 7 + step * 5) % 11 - 5) / 8.0;
    }
    ht_tensor_set_grad(p, tensor_of(index, values, ht_tensor_dtype(p), split));
}

static void steps(ht_optimizer *o, int index, int first, int split)
{
    for (int step = first; step < STEPS; step++) {
        set_gradient(ht_optimizer_parameter(o, 0), index, step, split);
        assert_int_equal(ht_optimizer_step(o), HT_SUCCESS);
    }
}

static void check(int index, ht_dtype dtype, int split)
{
    ht_tensor *p = new_parameter(index, dtype, split);
    ht_optimizer *o = cases[index].make(ht_value_tensors(1, &p));
    const double bound = dtype == HT_FLOAT32 ? fmax(cases[index].bound, 4e-6) : cases[index].bound;
    const double *values;

    steps(o, index, 0, split);
    values = ht_test_data(ht_resplit(ht_astype(p, HT_FLOAT64), HT_NONE));
    for (int64_t i = 0; i < size_of(index); i++) {
        const double expected = cases[index].expected[i];

        if (!(fabs(values[i] - expected) <= bound * (1 + fabs(expected))))
            fail_msg("%s of %s, split %d: element %d is %.17g, expected %.17g", cases[index].name,
                     ht_dtype_name(dtype), split, (int)i, values[i], expected);
    }
    ht_release(o);
}

static void test_golden(void **state)
{
    (void)state;
    for (int index = 0; index < CASES; index++) {
        check(index, HT_FLOAT64, HT_LOCAL);
        check(index, HT_FLOAT32, HT_LOCAL);
    }
}

static void test_split_parameters(void **state)
{
    (void)state;
    for (int index = 0; index < CASES; index++)
        for (int split = 0; split < cases[index].ndim; split++)
            check(index, HT_FLOAT64, split);
}

/* A state loads into a new optimizer, which then makes the same steps to the bit. */
static void test_resumed(void **state)
{
    (void)state;
    for (int index = 0; index < CASES; index++) {
        ht_tensor *p = new_parameter(index, HT_FLOAT64, HT_LOCAL), *q;
        ht_optimizer *o = cases[index].make(ht_value_tensors(1, &p)), *next;

        for (int step = 0; step < 3; step++) {
            set_gradient(p, index, step, HT_LOCAL);
            ht_optimizer_step(o);
        }
        q = ht_copy(p);
        next = cases[index].make(ht_value_tensors(1, &q));
        assert_int_equal(ht_optimizer_load_state_dict(next, ht_optimizer_state_dict(o)),
                         HT_SUCCESS);
        steps(o, index, 3, HT_LOCAL);
        steps(next, index, 3, HT_LOCAL);
        assert_memory_equal(ht_test_data(p), ht_test_data(q), (size_t)size_of(index) * 8);
        ht_release(o);
        ht_release(next);
    }
}

/* Only what a parameter has: rows and columns, or elements. */
static void test_states_of_adafactor(void **state)
{
    ht_tensor *p = new_parameter(0, HT_FLOAT64, HT_LOCAL);
    ht_optimizer *o = adafactor_matrix(ht_value_tensors(1, &p));

    (void)state;
    set_gradient(p, 0, 0, HT_LOCAL);
    assert_int_equal(ht_optimizer_step(o), HT_SUCCESS);
    assert_int_equal(ht_tensor_size(ht_optimizer_state(o, 0, "row_var")), 3);
    assert_int_equal(ht_tensor_size(ht_optimizer_state(o, 0, "col_var")), 5);
    assert_null(ht_optimizer_state(o, 0, "variance"));
    ht_release(o);
}

/* A matrix without elements has no steps to make; a matrix of zeros stays finite. */
static void test_empty_and_zero(void **state)
{
    int64_t none[] = {0, 3}, some[] = {2, 3};

    (void)state;
    for (int i = 0; i < 2; i++) {
        ht_tensor *p = ht_zeros(2, i == 0 ? none : some, HT_FLOAT32, HT_LOCAL);
        ht_optimizer *o[] = {adafactor_matrix(ht_value_tensors(1, &p)),
                             muon_wide(ht_value_tensors(1, &p)),
                             sparse_adam_plain(ht_value_tensors(1, &p))};

        ht_tensor_set_grad(p, ht_zeros_like(p));
        for (int k = 0; k < 3; k++) {
            assert_int_equal(ht_optimizer_step(o[k]), HT_SUCCESS);
            ht_release(o[k]);
        }
        for (int64_t k = 0; k < ht_tensor_size(p); k++)
            assert_true(((const float *)ht_test_data(p))[k] == 0);
    }
}

static void test_misuse(void **state)
{
    ht_tensor *p = new_parameter(0, HT_FLOAT64, HT_LOCAL),
              *row = ht_flatten(ht_narrow(ht_copy(p), 0, 0, 1), 0);
    ht_muon_options muon = ht_muon_options_default();
    ht_adafactor_options adafactor = ht_adafactor_options_default();
    ht_sparse_adam_options sparse = ht_sparse_adam_options_default();

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(ht_optim_muon(ht_value_tensors(1, &row), 0.1, NULL));
    assert_message("parameter 0 is (5,), expected 2 axes");
    muon.ns_steps = 100;
    assert_null(ht_optim_muon(ht_value_tensors(1, &p), 0.1, &muon));
    assert_message("ns_steps is 100, expected 0 <= ns_steps < 100");
    muon = ht_muon_options_default();
    muon.adjust_lr = 3;
    assert_null(ht_optim_muon(ht_value_tensors(1, &p), 0.1, &muon));
    assert_message("adjust_lr is 3, expected 0 <= adjust_lr < 3");
    adafactor.beta2_decay = 0.1;
    assert_null(ht_optim_adafactor(ht_value_tensors(1, &p), 0.1, &adafactor));
    assert_message("beta2_decay is 0.1, expected at most 0");
    adafactor = ht_adafactor_options_default();
    adafactor.d = 0.5;
    assert_null(ht_optim_adafactor(ht_value_tensors(1, &p), 0.1, &adafactor));
    assert_message("d is 0.5, expected a finite value of at least 1");
    sparse.eps = 0;
    assert_null(ht_optim_sparse_adam(ht_value_tensors(1, &p), 0.1, &sparse));
    assert_message("eps is 0, expected a number above 0");
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
}

static void test_muon_takes_groups(void **state)
{
    ht_tensor *p = new_parameter(0, HT_FLOAT64, HT_LOCAL), *q = ht_copy(p);
    ht_optimizer *o = muon_wide(ht_value_tensors(1, &p));

    (void)state;
    assert_int_equal(ht_optim_muon_add_param_group(o, ht_value_tensors(1, &q), 0.02, NULL),
                     HT_SUCCESS);
    set_gradient(p, 0, 0, HT_LOCAL);
    set_gradient(q, 0, 0, HT_LOCAL);
    assert_int_equal(ht_optimizer_step(o), HT_SUCCESS);
    assert_memory_equal(ht_test_data(p), ht_test_data(q), SIZE * sizeof(double));
    ht_release(o);
}

HT_TEST_SUITE(test_matrices, cmocka_unit_test(test_golden), cmocka_unit_test(test_split_parameters),
              cmocka_unit_test(test_resumed), cmocka_unit_test(test_states_of_adafactor),
              cmocka_unit_test(test_empty_and_zero), cmocka_unit_test(test_misuse),
              cmocka_unit_test(test_muon_takes_groups));
