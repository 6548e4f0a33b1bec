/* ranks 1 */
/* SPDX-License-Identifier: MIT
 *
 * Matrix products against three loops, over transposes, leading dimensions, alpha, beta, bias and
 * empty sizes. The operands are small integers, so that every type computes exactly. */
#include "ht_test.h"

#include <math.h>
#include <stdlib.h>

#include "backends/cpu/nn/kernels.h"

#define ROOM 256

typedef struct product {
    ht_gemm g;
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

/* Where beta is 0, c holds NaN: it must not be read. */
static void make_product(product *p)
{
    ht_gemm *g = &p->g;

    *g = (ht_gemm){
        .trans_a = pick(2), .trans_b = pick(2), .m = pick(9), .n = pick(9), .k = pick(9)};
    g->alpha = pick(3) - 1;
    g->beta = pick(3) - 1;
    g->lda = (g->trans_a ? g->m : g->k) + 1 + pick(3);
    g->ldb = (g->trans_b ? g->k : g->n) + 1 + pick(3);
    g->ldc = g->n + 1 + pick(3);
    g->a = p->a;
    g->b = p->b;
    g->c = p->c;
    g->bias = pick(2) ? p->bias : NULL;
    fill(p->a, -3);
    fill(p->b, -3);
    fill(p->bias, 1);
    fill(p->c, -3);
    for (int i = 0; g->beta == 0 && i < ROOM; i++)
        p->c[i] = NAN;
}

static void expect_product(product *p)
{
    const ht_gemm *g = &p->g;

    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            double sum = 0;

            for (int64_t l = 0; l < g->k; l++)
                sum += p->a[g->trans_a ? l * g->lda + i : i * g->lda + l] *
                       p->b[g->trans_b ? j * g->ldb + l : l * g->ldb + j];
            sum *= g->alpha;
            sum += g->beta == 0 ? 0 : g->beta * p->c[i * g->ldc + j];
            p->expected[i * g->ldc + j] = sum + (g->bias != NULL ? p->bias[j] : 0);
        }
    }
}

static void assert_product(const product *p)
{
    for (int64_t i = 0; i < p->g.m; i++) {
        for (int64_t j = 0; j < p->g.n; j++)
            assert_true(p->c[i * p->g.ldc + j] == p->expected[i * p->g.ldc + j]);
    }
}

static void test_float64_equals_three_loops(void **state)
{
    static product p;

    (void)state;
    srand(1);
    for (int round = 0; round < 2000; round++) {
        make_product(&p);
        p.g.dtype = HT_FLOAT64;
        expect_product(&p);
        assert_int_equal(ht__cpu_gemm(NULL, &p.g), 0);
        assert_product(&p);
    }
}

static void narrow(float *to, const double *from)
{
    for (int i = 0; i < ROOM; i++)
        to[i] = (float)from[i];
}

static void test_float32_equals_three_loops(void **state)
{
    static product p;
    static float a[ROOM], b[ROOM], bias[ROOM], c[ROOM];

    (void)state;
    srand(2);
    for (int round = 0; round < 2000; round++) {
        ht_gemm g;

        make_product(&p);
        expect_product(&p);
        narrow(a, p.a);
        narrow(b, p.b);
        narrow(bias, p.bias);
        narrow(c, p.c);
        g = p.g;
        g.dtype = HT_FLOAT32;
        g.a = a;
        g.b = b;
        g.c = c;
        g.bias = p.g.bias != NULL ? bias : NULL;
        assert_int_equal(ht__cpu_gemm(NULL, &g), 0);
        for (int i = 0; i < ROOM; i++)
            p.c[i] = (double)c[i];
        assert_product(&p);
    }
}

static void test_refuses_what_blas_cannot_count(void **state)
{
    const ht_gemm g = {.dtype = HT_FLOAT64, .m = INT64_C(1) << 31, .n = 1, .k = 1};

    (void)state;
    assert_int_not_equal(ht__cpu_gemm(NULL, &g), 0);
}

HT_TEST_SUITE(test_cpu_gemm, cmocka_unit_test(test_float64_equals_three_loops),
              cmocka_unit_test(test_float32_equals_three_loops),
              cmocka_unit_test(test_refuses_what_blas_cannot_count));
