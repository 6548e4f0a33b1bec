/* ranks 1 own device */
/* SPDX-License-Identifier: MIT
 *
 * Matrix products against three loops, over transposes, leading dimensions, batches, alpha, beta,
 * bias, epilogue and empty sizes. The operands are small integers, so that every type computes
 * exactly; the imaginary part of a complex one is half its real part (cpu_set). */
#include "cpu_kernels.h"

#include "backends/cpu/cpu.h"
#include "ht/kernels/nn.h"

enum { ROOM = 512, MAX_BYTES = 16 };

typedef struct product {
    ht_gemm_call g;
    double a[ROOM], b[ROOM], bias[ROOM], c[ROOM], expected[ROOM];
} product;

static int pick(int count)
{
    return rand() % count;
}

static void fill(double *values, int64_t from)
{
    for (int i = 0; i < ROOM; i++)
        values[i] = (double)(from + pick(7));
}

/* Where beta is 0, c holds NaN: it must not be read. Matrices have gaps between their rows, and
 * there are up to three of them; a step of 0 is one for all. */
static void make_product(product *p, ht_dtype dtype)
{
    ht_gemm_call *g = &p->g;

    *g = (ht_gemm_call){
        .trans_a = pick(2), .trans_b = pick(2), .m = pick(9), .n = pick(9), .k = pick(9)};
    g->compute = dtype == HT_FLOAT16 || dtype == HT_BFLOAT16 ? HT_FLOAT32 : dtype;
    g->epilogue = ht_dtype_is_floating(dtype) && pick(2) ? HT_EPILOGUE_RELU : HT_EPILOGUE_NONE;
    g->alpha = pick(3) - 1;
    g->beta = pick(3) - 1;
    g->lda = (g->trans_a ? g->m : g->k) + 1 + pick(3);
    g->ldb = (g->trans_b ? g->k : g->n) + 1 + pick(3);
    g->ldc = g->n + 1 + pick(3);
    g->batch = pick(4);
    g->a_step = pick(2) * 100;
    g->b_step = pick(2) * 110;
    g->c_step = g->m * g->ldc + pick(3);
    g->bias.data = pick(2) ? p->bias : NULL;
    fill(p->a, -3);
    fill(p->b, -3);
    fill(p->bias, 1);
    fill(p->c, -3);
    for (int i = 0; g->beta == 0 && i < ROOM; i++)
        p->c[i] = NAN;
}

/* `square` is what 1 times 1 is: of complex numbers (1 + i/2)^2 = 3/4 + i. `one` is 1, or its
 * imaginary part. */
static void expect_product(product *p, double square, double one)
{
    const ht_gemm_call *g = &p->g;

    for (int i = 0; i < ROOM; i++)
        p->expected[i] = one * p->c[i];
    for (int64_t i = 0; i < g->batch * g->m * g->n; i++) {
        const int64_t batch = i / (g->m * g->n), row = i / g->n % g->m, column = i % g->n;
        const double *a = p->a + batch * g->a_step, *b = p->b + batch * g->b_step;
        double *c = p->expected + batch * g->c_step + row * g->ldc + column, sum = 0;

        for (int64_t l = 0; l < g->k; l++)
            sum += a[g->trans_a ? l * g->lda + row : row * g->lda + l] *
                   b[g->trans_b ? column * g->ldb + l : l * g->ldb + column];
        sum *= g->alpha * square;
        sum += g->beta == 0 ? 0 : g->beta * *c;
        sum += g->bias.data != NULL ? one * p->bias[column] : 0;
        *c = g->epilogue == HT_EPILOGUE_RELU ? fmax(sum, 0) : sum;
    }
}

/* All of c: nothing is written between the rows. `part` 1: imaginary parts. */
static void assert_product(const product *p, ht_dtype dtype, const char *c, int part)
{
    for (int64_t i = 0; i < ROOM; i++) {
        double got = !ht_dtype_is_complex(dtype) ? cpu_get(dtype, c, i)
                     : dtype == HT_COMPLEX64     ? cpu_get(HT_FLOAT32, c, 2 * i + part)
                                                 : cpu_get(HT_FLOAT64, c, 2 * i + part);

        assert_true(got == p->expected[i] || (isnan(got) && isnan(p->expected[i])));
    }
}

static void to_dtype(ht_dtype dtype, char *to, const double *from)
{
    for (int i = 0; i < ROOM; i++)
        cpu_set(dtype, to, i, from[i]);
}

static void check_product(ht_dtype dtype)
{
    static _Alignas(64) char a[ROOM * MAX_BYTES], b[ROOM * MAX_BYTES], bias[ROOM * MAX_BYTES],
        c[ROOM * MAX_BYTES];
    static product p;

    make_product(&p, dtype);
    to_dtype(dtype, a, p.a);
    to_dtype(dtype, b, p.b);
    to_dtype(dtype, bias, p.bias);
    to_dtype(dtype, c, p.c);
    p.g.a.data = a;
    p.g.b.data = b;
    p.g.c.data = c;
    p.g.bias.data = p.g.bias.data != NULL ? bias : NULL;
    assert_int_equal(cpu_run(ht__cpu_kernels(), HT_KERNEL_GEMM, dtype, &p.g), 0);
    expect_product(&p, ht_dtype_is_complex(dtype) ? 0.75 : 1, 1);
    assert_product(&p, dtype, c, 0);
    if (!ht_dtype_is_complex(dtype))
        return;
    expect_product(&p, 1, 0.5);
    assert_product(&p, dtype, c, 1);
}

static void matrix_products_equal_three_loops(void **state)
{
    (void)state;
    srand(1);
    for (int dtype = HT_FLOAT16; dtype <= HT_COMPLEX128; dtype++)
        for (int round = 0; round < 2000; round++)
            check_product((ht_dtype)dtype);
}

static void test_refuses_what_blas_cannot_count(void **state)
{
    ht_gemm_call g = {.compute = HT_FLOAT64, .m = INT64_C(1) << 31, .n = 1, .k = 1, .batch = 1};

    (void)state;
    assert_int_not_equal(cpu_run(ht__cpu_kernels(), HT_KERNEL_GEMM, HT_FLOAT64, &g), 0);
    assert_message("is too large for BLAS");
}

/* Refused, so that it runs elsewhere; not an error. */
static void test_complex_numbers_have_no_epilogue(void **state)
{
    float one[2] = {1, 0}, c[2] = {5, 5};
    ht_gemm_call g = {.compute = HT_COMPLEX64,
                      .epilogue = HT_EPILOGUE_RELU,
                      .m = 1,
                      .n = 1,
                      .k = 1,
                      .lda = 1,
                      .ldb = 1,
                      .ldc = 1,
                      .batch = 1,
                      .alpha = 1,
                      .a.data = one,
                      .b.data = one,
                      .c.data = c};

    (void)state;
    ht_error_clear();
    assert_int_equal(cpu_run(ht__cpu_kernels(), HT_KERNEL_GEMM, HT_COMPLEX64, &g),
                     HT_KERNEL_REFUSED);
    assert_true(c[0] == 5 && c[1] == 5);
    assert_int_equal(ht_error_get(NULL), HT_SUCCESS);
}

/* Their values are test_linalg's. */
static void test_integers_have_plain_products_alone(void **state)
{
    const int32_t a[4] = {1, 2, 3, INT32_MAX}, b[4] = {1, 0, 1, 2};
    int32_t c[4] = {5, 5, 5, 5};
    ht_gemm_call call = {.call = {.dtype = HT_INT32},
                         .compute = HT_INT32,
                         .m = 2,
                         .n = 2,
                         .k = 2,
                         .lda = 2,
                         .ldb = 2,
                         .ldc = 2,
                         .batch = 1,
                         .alpha = 1,
                         .beta = 1,
                         .a = CPU_AT(a),
                         .b = CPU_AT(b),
                         .c.data = c};
    ht_kernel_fn *gemm = ht__cpu_kernel(HT_KERNEL_GEMM, HT_INT32);

    (void)state;
    assert_null(ht__cpu_kernel(HT_KERNEL_GEMM, HT_BOOL));
    assert_int_equal(gemm(NULL, &call.call), 0);
    assert_true(c[0] == 8 && c[1] == 9 && c[2] == INT32_MIN + 7 && c[3] == 3);
    call.alpha = 2;
    assert_int_equal(gemm(NULL, &call.call), HT_KERNEL_REFUSED);
    call.alpha = 1;
    call.beta = 0.5;
    assert_int_equal(gemm(NULL, &call.call), HT_KERNEL_REFUSED);
    call.beta = 1;
    call.bias = CPU_AT(b);
    assert_int_equal(gemm(NULL, &call.call), HT_KERNEL_REFUSED);
    call.bias.data = NULL;
    call.epilogue = HT_EPILOGUE_RELU;
    assert_int_equal(gemm(NULL, &call.call), HT_KERNEL_REFUSED);
}

HT_TEST_SUITE(test_cpu_gemm, cmocka_unit_test(matrix_products_equal_three_loops),
              cmocka_unit_test(test_refuses_what_blas_cannot_count),
              cmocka_unit_test(test_complex_numbers_have_no_epilogue),
              cmocka_unit_test(test_integers_have_plain_products_alone));
