/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Communication hooks: the plain one against none, a program's hook, 16 bits on the wire, and
 * refusals. */
#include "nn/parallel/data/comm_hook_test.h"
#include "core/exchange/exchange.h"
#include "core/base/half.h"

enum { LARGE = 64, N_LARGE = LARGE * LARGE };

static float rounded(float x, ht_dtype wire)
{
    if (wire == HT_BFLOAT16)
        return ht__bfloat16_to_float(ht__float_to_bfloat16(x));
    return ht__float16_to_float(ht__float_to_float16(x));
}

/* The hook that does what happens without one: the same bits. */
static void test_allreduce_equals_no_hook(void **state)
{
    double expected[VALUES], values[VALUES];

    (void)state;
    train_hooked(true, 1, ADAM, NULL, NULL, expected);
    for (int blocking = 0; blocking < 2; blocking++) {
        for (size_t i = 0; i < sizeof hook_bucket_sizes / sizeof *hook_bucket_sizes; i++) {
            train_hooked(blocking, hook_bucket_sizes[i], ADAM, ht_comm_hook_allreduce, NULL,
                         values);
            assert_memory_equal(values, expected, sizeof values);
        }
    }
}

/* A hook as a program may write it: the norm of each bucket is limited to what the ranks' norms are
 * on average. Two rounds: the norms, then the gradients. */
struct clipping {
    ht_tensor *norm[16]; /* by bucket */
    int buckets, last;   /* seen */
};

static ht_status clip(ht_grad_bucket *bucket, int round, void *user)
{
    struct clipping *clipping = user;
    ht_tensor *x = ht_grad_bucket_buffer(bucket);
    int index = ht_grad_bucket_index(bucket);
    double norm;

    if (round == 0) {
        clipping->buckets += index == 0;
        clipping->last += ht_grad_bucket_is_last(bucket);
        assert_true(ht_grad_bucket_count(bucket) > 0);
        assert_int_equal(ht_tensor_size(ht_grad_bucket_parameter(bucket, 0)),
                         ht_tensor_size(ht_grad_bucket_gradient(bucket, 0)));
        clipping->norm[index] = ht_retain(ht_sqrt(ht_sum(ht_mul(x, x), HT_NONE)));
        return ht_grad_bucket_sum(bucket, clipping->norm[index],
                                  1.0 / ht_comm_size(ht_grad_bucket_comm(bucket)),
                                  ht_tensor_dtype(x));
    }
    if (round == 2)
        return HT_SUCCESS;
    norm = *(const double *)ht_test_data(clipping->norm[index]);
    ht_release(clipping->norm[index]);
    ht_mul_scalar_(x, norm > 1 ? 1 / norm : 1);
    return ht_grad_bucket_sum(bucket, x, ht_grad_bucket_scale(bucket), ht_tensor_dtype(x));
}

static void test_hook_of_the_programs_own(void **state)
{
    double expected[VALUES], values[VALUES], plain[VALUES];

    (void)state;
    train_hooked(true, 1, SGD, NULL, NULL, plain);
    for (size_t i = 0; i < sizeof hook_bucket_sizes / sizeof *hook_bucket_sizes; i++) {
        struct clipping one = {.buckets = 0}, two = {.buckets = 0};

        train_hooked(true, hook_bucket_sizes[i], SGD, clip, &one, expected);
        train_hooked(false, hook_bucket_sizes[i], SGD, clip, &two, values);
        assert_memory_equal(values, expected, sizeof values);
        assert_int_equal(one.buckets, 10);
        assert_int_equal(two.last, 10);
        assert_true(distance(values, plain) > 1e-6);
    }
}

/* By hand, for two ranks: each side rounded, their sum times the scale, rounded again. */
static void check_rounding(ht_comm_hook hook, ht_dtype wire, bool scale_first)
{
    enum { ROWS = 5, COLUMNS = 7, N = ROWS * COLUMNS };
    struct probe p = open_probe(ROWS, COLUMNS, HT_FLOAT32, hook, NULL);
    double values[2][N];
    const float *got;

    for (int r = 0; r < 2; r++)
        for (int i = 0; i < N; i++)
            values[r][i] = (float)(sin(1 + 3 * i + r) * pow(2, i % 9));
    got = ht_test_data(probe_average(&p, values[ht_test_rank % 2]));
    for (int i = 0; i < N; i++) {
        float a = (float)values[0][i], b = (float)values[1][i], expected;

        if (scale_first)
            expected = rounded(rounded(a / 2, wire) + rounded(b / 2, wire), wire);
        else
            expected = rounded((rounded(a, wire) + rounded(b, wire)) / 2, wire);
        assert_true(got[i] == expected);
    }
    close_probe(&p);
}

static void test_16_bits_on_the_wire(void **state)
{
    (void)state;
    if (ht_test_size != 2)
        HT_TEST_SKIP("by hand for two ranks");
    check_rounding(ht_comm_hook_bf16, HT_BFLOAT16, false);
    check_rounding(ht_comm_hook_fp16, HT_FLOAT16, true);
}

static uint64_t bytes_of(ht_comm_hook hook)
{
    static double values[N_LARGE];
    struct probe p = open_probe(LARGE, LARGE, HT_FLOAT32, hook, NULL);
    const ht_exchange *exchange = ht__exchange_get(p.comm, HT_PURPOSE_REDUCER);
    uint64_t before = ht__exchange_bytes_sent(exchange), sent;

    probe_average(&p, values);
    sent = ht__exchange_bytes_sent(exchange) - before;
    close_probe(&p);
    return sent;
}

/* The flags of the bucket come on top. */
static void test_16_bits_are_half_the_bytes(void **state)
{
    uint64_t whole = bytes_of(ht_comm_hook_allreduce);

    (void)state;
    if (ht_test_size == 1)
        HT_TEST_SKIP("nothing travels");
    assert_true(whole >= N_LARGE * sizeof(float));
    assert_true(2 * bytes_of(ht_comm_hook_bf16) <= whole + 64);
    assert_true(2 * bytes_of(ht_comm_hook_fp16) <= whole + 64);
}

/* A sum of weighted gradients that float16 cannot hold, whose average it can. */
static void test_fp16_divides_first(void **state)
{
    double value = 60000;
    struct probe p = open_probe(1, 1, HT_FLOAT32, ht_comm_hook_fp16, NULL);
    float got = *(const float *)ht_test_data(probe_average(&p, &value));

    (void)state;
    assert_true(fabsf(got - 60000) <= 64);
    close_probe(&p);
}

static void half_hooks_agree_blocking_and_overlapped(void **state)
{
    static const ht_comm_hook hooks[] = {ht_comm_hook_bf16, ht_comm_hook_fp16};
    double expected[VALUES], values[VALUES];

    (void)state;
    for (int i = 0; i < 2; i++) {
        train_hooked(true, 1, SGD, hooks[i], NULL, expected);
        train_hooked(false, 2.1e-4, SGD, hooks[i], NULL, values);
        assert_memory_equal(values, expected, sizeof values);
    }
}

static void test_misuse(void **state)
{
    ht_module *net = new_net(3), *dp;
    ht_optimizer *optimizer = new_optimizer(net, SGD);

    (void)state;
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, true);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_int_equal(ht_data_parallel_register_comm_hook(net, ht_comm_hook_bf16, NULL),
                     HT_ERR_ARGUMENT);
    assert_message("wrapper is net, expected a DataParallel wrapper");
    assert_int_equal(ht_data_parallel_register_comm_hook(dp, NULL, NULL), HT_ERR_ARGUMENT);
    assert_message("hook is NULL");
    backward_rows(dp, 0, 4);
    ht_optimizer_step(optimizer);
    assert_int_equal(ht_data_parallel_register_comm_hook(dp, ht_comm_hook_bf16, NULL),
                     HT_ERR_STATE);
    assert_message("1 backward passes have run, expected a hook before the first");
    ht_release(dp);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, true);
    ht_data_parallel_register_comm_hook(dp, ht_comm_hook_bf16, NULL);
    assert_int_equal(ht_data_parallel_register_comm_hook(dp, ht_comm_hook_fp16, NULL),
                     HT_ERR_STATE);
    assert_message("the wrapper already has a hook");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

HT_TEST_SUITE(test_comm_hook, cmocka_unit_test(test_allreduce_equals_no_hook),
              cmocka_unit_test(test_hook_of_the_programs_own),
              cmocka_unit_test(test_16_bits_on_the_wire),
              cmocka_unit_test(test_16_bits_are_half_the_bytes),
              cmocka_unit_test(test_fp16_divides_first),
              cmocka_unit_test(half_hooks_agree_blocking_and_overlapped),
              cmocka_unit_test(test_misuse));
