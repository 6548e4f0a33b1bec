/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* The share of the CPU's kernels, each for each of its dtypes, that the CUDA module has. */
#include "backends/cpu/cpu.h"
#include "cuda_device.h"
#include "ht/kernels/elementwise.h"

static const struct family {
    const char *name;
    int first, end;
    double least; /* the share that was there before, and stays */
} families[] = {
    {"elementwise", HT_KERNELS_ELEMENTWISE, HT_KERNELS_REDUCE, 1},
    {"reduce", HT_KERNELS_REDUCE, HT_KERNELS_RANDOM, 0.97},
    {"random", HT_KERNELS_RANDOM, HT_KERNELS_INDEX, 1},
    {"index", HT_KERNELS_INDEX, HT_KERNELS_NN, 1},
    {"nn", HT_KERNELS_NN, HT_KERNELS_DECOMPOSITIONS, 1},
    {"decompositions", HT_KERNELS_DECOMPOSITIONS, HT_KERNELS_ORDER, 0},
    {"order", HT_KERNELS_ORDER, HT_KERNELS_SPATIAL, 0},
    {"spatial", HT_KERNELS_SPATIAL, HT_KERNELS_FFT, 0},
    {"fft", HT_KERNELS_FFT, HT_KERNELS_OPTIM, 0},
    {"optim", HT_KERNELS_OPTIM, HT_KERNEL_LIMIT, 1},
};

/* Kernels that save the CPU work, but would only make a GPU write more. */
static bool is_for_hosts(int kernel)
{
#define IS(name, operands) || kernel == HT_KERNEL_##name
    return false HT_SLOPE_KERNELS(IS);
#undef IS
}

static void kernels_that_were_there_stay(void **state)
{
    const ht_device *device = cuda_device();

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const struct family *f = &families[i];
        int rows = 0, there = 0;

        for (int kernel = f->first; kernel < f->end; kernel++)
            for (int dtype = 0; dtype < HT_DTYPE_COUNT && !is_for_hosts(kernel); dtype++) {
                const bool has = device->kernels->at[kernel][dtype] != NULL;

                rows += ht__cpu_kernel(kernel, (ht_dtype)dtype) != NULL;
                there += has && ht__cpu_kernel(kernel, (ht_dtype)dtype) != NULL;
            }
        print_message("# cuda: %d of %d %s kernels (%.0f %%)\n", there, rows, f->name,
                      rows > 0 ? 100.0 * there / rows : 0);
        assert_true(there >= f->least * rows);
    }
}

HT_TEST_SUITE(test_cuda_share, cmocka_unit_test(kernels_that_were_there_stay));
