/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Steps of optimizers of the CUDA module compared with the CPU's: the same bits, with every option,
 * for more parameters than a launch has room for, of lengths from 0 up. */
#include <stddef.h>

#include "cuda_device.h"
#include "backends/cpu/cpu_kernels.h"
#include "ht/kernels/optim.h"

enum { PARTS = 45, ARRAYS = 2 + HT_UPDATE_STATES, ROOM = PARTS * ARRAYS * 50 + ARRAYS * 5000 + 2 };

static const struct {
    ht_kernel id;
    const char *name;
} kernels[] = {
#define ROW(name) {HT_KERNEL_##name, #name},
    HT_OPTIM_KERNELS(ROW)
#undef ROW
};

typedef struct job {
    ht_update_call call;
    ht_update_part part[PARTS];
} job;

/* factor and unless, then the arrays of all parts. */
static _Alignas(64) char host[ROOM * 8], got[ROOM * 8];

static cpu_level levels[3];
static ht_device *device;
static char *remote;

static int open_device(void **state)
{
    (void)state;
    cpu_levels(levels);
    device = cuda_device();
    if (device != NULL)
        remote = cuda_room(device, sizeof host);
    return 0;
}

static void fill(ht_dtype dtype, double unless)
{
    uint64_t seed = 3;

    ((double *)(void *)host)[0] = 0.75;
    ((double *)(void *)host)[1] = unless;
    for (int64_t i = 16 / (int64_t)ht_dtype_size(dtype);
         i < (int64_t)(sizeof host / ht_dtype_size(dtype)); i++)
        cpu_set(dtype, host, i, cpu_random(&seed)); /* states are not negative */
    ht__device_put(device, remote, host, sizeof host);
}

/* One part is longer than what a block has, one has nothing. */
static int64_t length_of(int part)
{
    return part == 7 ? 5000 : part % 11 == 3 ? 0 : part + 1;
}

/* `option`: bit 0 nesterov, decoupled, centered; 1 maximize; 2 momentum and a buffer; 3 factor and
 * unless; no bit 2: amsgrad. */
static job make_job(ht_kernel kernel, ht_dtype dtype, int option, char *memory)
{
    const size_t size = ht_dtype_size(dtype);
    const bool buffer = kernel != HT_KERNEL_UPDATE_SGD || (option & 4) != 0;
    job j = {.call = {.lr = 0.1,
                      .beta1 = 0.9,
                      .beta2 = 0.99,
                      .eps = 1e-6,
                      .weight_decay = 0.01,
                      .momentum = (option & 4) != 0 ? 0.8 : 0,
                      .dampening = 0.3,
                      .grad_scale = 0.5,
                      .nesterov = (option & 1) != 0,
                      .decoupled = (option & 1) != 0,
                      .centered = (option & 1) != 0,
                      .amsgrad = (option & 4) == 0,
                      .maximize = (option & 2) != 0}};
    char *at = memory + 16;

    j.call.call = (ht_kernel_call){.bytes = sizeof j,
                                   .kernel = kernel,
                                   .dtype = dtype,
                                   .operands = 2,
                                   .what = "the test",
                                   .table = offsetof(job, part),
                                   .rows = PARTS,
                                   .row_bytes = sizeof(ht_update_part),
                                   .row_operands = ARRAYS};
    if ((option & 8) != 0) {
        j.call.factor.data = memory;
        j.call.unless.data = memory + 8;
    }
    for (int p = 0; p < PARTS; p++) {
        const size_t bytes = (size_t)length_of(p) * size;

        j.part[p].n = length_of(p);
        j.part[p].step = 1 + p % 3;
        j.part[p].param.data = at;
        j.part[p].grad.data = at + bytes;
        for (int s = 0; s < HT_UPDATE_STATES; s++)
            j.part[p].state[s].data = buffer ? at + (size_t)(2 + s) * bytes : NULL;
        at += ARRAYS * bytes;
    }
    return j;
}

static void check(ht_kernel kernel, const char *name, ht_dtype dtype, int option)
{
    const double eps = cuda_is_emulated(device) ? 0 : 8 * cpu_eps(dtype);
    job j;

    j = make_job(kernel, dtype, option, remote);
    assert_int_equal(device->kernels->at[kernel][dtype](device->stream, &j.call.call), 0);
    assert_int_equal(ht__device_get(device, got, remote, sizeof got), 0);
    j = make_job(kernel, dtype, option, host);
    assert_int_equal(levels[0].kernels.at[kernel][dtype](NULL, &j.call.call), 0);
    for (int64_t i = 0; i < (int64_t)(sizeof got / ht_dtype_size(dtype)); i++) {
        const double value = cpu_get(dtype, got, i), right = cpu_get(dtype, host, i);

        if (!cpu_same(dtype, got, i, host, i) && !(fabs(value - right) <= eps * fabs(right)))
            fail_msg("%s of %s, options %d: element %lld is %.17g, expected %.17g", name,
                     ht_dtype_name(dtype), option, (long long)i, value, right);
    }
}

static void steps_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (int option = 0; option < 16; option++) {
            setenv("EMULATED_ORDER", cuda_orders[option % 3], true);
            for (ht_dtype dtype = HT_FLOAT32; dtype <= HT_FLOAT64; dtype++) {
                fill(dtype, 0);
                check(kernels[k].id, kernels[k].name, dtype, option);
            }
        }
    unsetenv("EMULATED_ORDER");
}

/* A step that an overflow of gradients forbids leaves all as it was. */
static void a_forbidden_step_does_nothing(void **state)
{
    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    job j = make_job(HT_KERNEL_UPDATE_ADAM, HT_FLOAT32, 8, remote);

    fill(HT_FLOAT32, 1);
    assert_int_equal(
        device->kernels->at[HT_KERNEL_UPDATE_ADAM][HT_FLOAT32](device->stream, &j.call.call), 0);
    assert_int_equal(ht__device_get(device, got, remote, sizeof got), 0);
    assert_memory_equal(got, host, sizeof host);
}

HT_TEST_SUITE(test_cuda_update,
              cmocka_unit_test_setup_teardown(steps_have_the_bits_of_the_cpu, open_device,
                                              cuda_close),
              cmocka_unit_test_setup_teardown(a_forbidden_step_does_nothing, open_device,
                                              cuda_close));
