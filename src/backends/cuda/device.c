/* SPDX-License-Identifier: MIT
 *
 * The module libht_cuda.so: devices, and their streams.
 *
 * A device has one stream for its work, and others for copies in parallel with it. Only the calls
 * that the interface names wait for them. */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/fault/fault.h"
#include "backends/cuda/index/sort.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/library/handle.h"
#include "backends/cuda/nn/conv/dnn.h"
#include "backends/cuda/staging.h"

/* Freed memory that a device keeps for the next kernel: windows of convolutions and scores of
 * attention fit. */
static const uint64_t KEPT_BYTES = (uint64_t)512 << 20;

static int device_count(void)
{
    int count;

    return ht_cuda_count(&count) == 0 ? count : 0;
}

/* Also one that is open in part. */
static void close(ht_cuda_device *device)
{
    ht_cuda_plans_free(device->plans);
    ht_cuda_handle_free(device->blas);
    ht_cuda_staging_free(device);
    if (device->stream != NULL)
        ht_cuda_stream_free(device->stream);
    ht_cuda_fault_close(device);
    free(device);
}

static ht_cuda_device *device_new(int index)
{
    const char *sync = getenv("HT_CUDA_SYNC");
    ht_cuda_device *device = calloc(1, sizeof *device);

    if (device != NULL)
        device->plans = ht_cuda_plans_new();
    if (device != NULL && device->plans != NULL)
        device->blas = ht_cuda_handle_new("cuBLAS", "products", ht_cuda_blas_new,
                                          ht_cuda_blas_free);
    if (device != NULL && device->blas != NULL)
        device->staging = ht_cuda_staging_new();
    if (device == NULL || device->staging == NULL) {
        ht_cuda_core->fail("cuda:%d: out of memory on the host", index);
        if (device != NULL) {
            ht_cuda_plans_free(device->plans);
            ht_cuda_handle_free(device->blas);
        }
        free(device);
        return NULL;
    }
    device->index = index;
    device->waits = sync != NULL && strcmp(sync, "0") != 0;
    return device;
}

/* CUB keeps what its first question gave, an error too: it is asked while there is memory. */
static int load_sort(void)
{
    const ht_cuda_pairs one = {.count = 1, .bits = 1};
    size_t bytes;

    return ht_cuda_sort_bytes(&one, &bytes);
}

static int device_open(int index, void **stream)
{
    ht_cuda_device *device = device_new(index);
    ht_cuda_properties properties;
    int error;

    if (device == NULL)
        return 1;
    error = ht_cuda_use(index);
    if (error == 0)
        error = ht_cuda_get_properties(index, &properties);
    if (error == 0 && !properties.pools) {
        ht_cuda_core->fail("cuda:%d does not support stream-ordered memory allocation", index);
        close(device);
        return 1;
    }
    if (error == 0)
        error = ht_cuda_keep_memory(index, KEPT_BYTES);
    if (error == 0)
        error = ht_cuda_stream_new(&device->stream);
    if (error == 0)
        error = ht_cuda_fault_open(device);
    if (error == 0)
        error = ht_cuda_staging_open(device);
    if (error == 0)
        error = load_sort();
    if (error == 0)
        ht_cuda_handle_get(device->blas, device);
    if (ht_cuda_check(error, device, "ht_device_get") != 0) {
        close(device);
        return 1;
    }
    device->cores = properties.cores;
    *stream = device;
    return 0;
}

static void device_close(void *stream)
{
    ht_cuda_device *device = stream;

    ht_cuda_use(device->index);
    ht_cuda_stream_wait(device->stream);
    close(device);
}

static void device_properties(int index, size_t *memory, int *cores)
{
    ht_cuda_properties properties = {0};

    ht_cuda_get_properties(index, &properties);
    *memory = properties.memory;
    *cores = properties.cores;
}

/* After an error, too, it waits for the copies: their memory gets another owner next. */
static int synchronize(void *stream)
{
    ht_cuda_device *device = stream;
    int error = ht_cuda_use(device->index), copied;

    if (error == 0)
        error = ht_cuda_stream_wait(device->stream);
    copied = ht_cuda_staging_wait(device);
    return ht_cuda_check_data(error != 0 ? error : copied, device);
}

static int poll_error(void *stream)
{
    ht_cuda_device *device = stream;
    int error = ht_cuda_use(device->index);

    if (error == 0)
        error = ht_cuda_stream_query(device->stream);
    if (ht_cuda_check_links(device) != 0)
        return 1;
    return ht_cuda_check_data(ht_cuda_is_not_ready(error) ? 0 : error, device);
}

/* A machine without a GPU, or without its driver, has the module all the same. */
static int find_devices(void)
{
    int count, driver = 0, runtime = 0;
    const int error = ht_cuda_count(&count);

    if (error == 0 && count > 0)
        return 0;
    ht_cuda_versions(&driver, &runtime);
    if (driver == 0)
        ht_cuda_core->fail("ht_device_get: no CUDA device: this machine has no NVIDIA driver "
                           "(libht_cuda.so is built for CUDA %d.%d)",
                           runtime / 1000, runtime % 1000 / 10);
    else
        ht_cuda_core->fail("ht_device_get: no CUDA device: %s (the driver knows CUDA %d.%d, "
                           "libht_cuda.so is built for %d.%d)",
                           error != 0 ? ht_cuda_text(error) : "the driver lists none",
                           driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return 1;
}

int ht_backend_open(uint32_t abi, const ht_backend_services *services, ht_backend *backend)
{
    if (abi != HT_BACKEND_ABI) {
        services->fail("ht_device_get: libht_cuda.so was compiled for backend interface %u, this "
                       "library has %u",
                       HT_BACKEND_ABI, abi);
        return 1;
    }
    ht_cuda_core = services;
    if (find_devices() != 0)
        return 1;
    *backend = (ht_backend){
        .abi = HT_BACKEND_ABI,
        .size = sizeof *backend,
        .name = "cuda",
        .prefer_channels_last = true,
        .device_count = device_count,
        .device_open = device_open,
        .device_close = device_close,
        .synchronize = synchronize,
        .device_properties = device_properties,
        .poll = poll_error,
    };
    ht_cuda_fill_memory(backend);
    ht_cuda_fill_events(backend);
    ht_cuda_fill_between(backend);
    ht_cuda_fill_links(backend);
    ht_cuda_add_kernels(backend);
    return 0;
}
