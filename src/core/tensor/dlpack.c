/* SPDX-License-Identifier: MIT
 *
 * DLPack: memory lent to other libraries and borrowed from them. The structs are those of dlpack.h
 * 1.1; the header is not required. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/tensor/tensor.h"
#include "ht/dlpack.h"

/* ---- the layout of dlpack.h ------------------------------------------------------------------ */
enum { MAJOR = 1, MINOR = 1, READ_ONLY = 1 };
enum { CODE_INT, CODE_UINT, CODE_FLOAT, CODE_BFLOAT = 4, CODE_COMPLEX, CODE_BOOL };
enum { DEVICE_CPU = 1, DEVICE_EXTENSION = 12 };

typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: row-major */
    uint64_t byte_offset;
} dl_tensor;

struct DLManagedTensor {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    dl_tensor tensor;
};

/* ---- elements and devices -------------------------------------------------------------------- */
static const struct element {
    uint8_t code, bits;
} elements[HT_DTYPE_COUNT] = {
    [HT_BOOL] = {CODE_BOOL, 8},          [HT_UINT8] = {CODE_UINT, 8},
    [HT_INT8] = {CODE_INT, 8},           [HT_INT16] = {CODE_INT, 16},
    [HT_INT32] = {CODE_INT, 32},         [HT_INT64] = {CODE_INT, 64},
    [HT_FLOAT16] = {CODE_FLOAT, 16},     [HT_BFLOAT16] = {CODE_BFLOAT, 16},
    [HT_FLOAT32] = {CODE_FLOAT, 32},     [HT_FLOAT64] = {CODE_FLOAT, 64},
    [HT_COMPLEX64] = {CODE_COMPLEX, 64}, [HT_COMPLEX128] = {CODE_COMPLEX, 128},
};

static const struct device_type {
    const char *backend;
    int32_t type;
} device_types[] = {{"cpu", DEVICE_CPU}, {"cuda", 2},  {"opencl", 4}, {"vulkan", 7},
                    {"metal", 8},        {"rocm", 10}, {"oneapi", 14}};
enum { DEVICE_TYPES = sizeof device_types / sizeof *device_types };

static int32_t type_of(const ht_device *device)
{
    if (device->backend->host_memory)
        return DEVICE_CPU;
    for (int i = 0; i < DEVICE_TYPES; i++) {
        if (strcmp(device_types[i].backend, device->backend->name) == 0)
            return device_types[i].type;
    }
    return DEVICE_EXTENSION;
}

static ht_device *device_of(const char *what, const dl_tensor *from)
{
    char name[32];

    if (from->device_type == DEVICE_CPU)
        return ht__device_cpu();
    for (int i = 0; i < DEVICE_TYPES; i++) {
        if (device_types[i].type == from->device_type) {
            snprintf(name, sizeof name, "%s:%" PRId32, device_types[i].backend, from->device_id);
            HT_NAMED(what);
            return ht_device_get(name);
        }
    }
    HT_FAIL(NULL, HT_ERR_DEVICE,
            "%s: device_type is %" PRId32 ", expected one with a backend (or ht_from_dlpack_ext)",
            what, from->device_type);
    return NULL;
}

/* ---- lent ------------------------------------------------------------------------------------ */
/* After ht_finalize the memory has been reported as a leak, and no owner is left to take it. */
static void give_back(void *storage, void *memory)
{
    if (!ht__process.ended)
        ht_release(storage);
    ht__free(memory);
}

static void delete_unversioned(struct DLManagedTensor *self)
{
    give_back(self->context, self);
}

static void delete_versioned(struct DLManagedTensorVersioned *self)
{
    give_back(self->context, self);
}

/* Shape and strides follow the struct in its memory. */
static void describe(const ht_body *body, dl_tensor *to, int64_t *lengths)
{
    const ht_device *device = body->storage->device;
    size_t bytes = sizeof *lengths * (size_t)body->ndim;

    to->data = body->lsize > 0 ? ht__body_data(body) : NULL;
    to->device_type = type_of(device);
    to->device_id = to->device_type == DEVICE_CPU ? 0 : device->index;
    to->ndim = body->ndim;
    to->code = elements[body->dtype].code;
    to->bits = elements[body->dtype].bits;
    to->lanes = 1;
    to->shape = memcpy(lengths, body->lshape, bytes);
    to->strides = memcpy(lengths + body->ndim, body->stride, bytes);
}

static bool can_lend(const char *what, ht_tensor *x)
{
    return !HT_IS_NULL(x, what, "x") &&
           ht_device_synchronize(x->body->storage->device) == HT_SUCCESS;
}

struct DLManagedTensorVersioned *ht_to_dlpack(ht_tensor *x)
{
    struct DLManagedTensorVersioned *managed;

    if (!can_lend("ht_to_dlpack", x))
        return NULL;
    managed = ht__alloc(sizeof *managed + 2 * sizeof(int64_t) * (size_t)x->body->ndim);
    managed->major = MAJOR;
    managed->minor = MINOR;
    managed->context = ht_retain(x->body->storage);
    managed->deleter = delete_versioned;
    managed->flags = x->body->read_only ? READ_ONLY : 0;
    describe(x->body, &managed->tensor, (int64_t *)(managed + 1));
    return managed;
}

struct DLManagedTensor *ht_to_dlpack_unversioned(ht_tensor *x)
{
    static const char what[] = "ht_to_dlpack_unversioned";
    struct DLManagedTensor *managed;

    if (!can_lend(what, x))
        return NULL;
    if (x->body->read_only) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "%s: x is read-only, expected a tensor that can be written; use ht_to_dlpack, or a "
                "copy of x",
                what);
        return NULL;
    }
    managed = ht__alloc(sizeof *managed + 2 * sizeof(int64_t) * (size_t)x->body->ndim);
    managed->context = ht_retain(x->body->storage);
    managed->deleter = delete_unversioned;
    describe(x->body, &managed->tensor, (int64_t *)(managed + 1));
    return managed;
}

/* ---- borrowed -------------------------------------------------------------------------------- */
static ht_dtype dtype_of(const dl_tensor *from)
{
    for (int i = 0; i < HT_DTYPE_COUNT; i++) {
        if (from->lanes == 1 && elements[i].code == from->code && elements[i].bits == from->bits)
            return (ht_dtype)i;
    }
    return HT_DTYPE_COUNT;
}

static bool can_borrow(const char *what, const dl_tensor *from)
{
    ht_dtype dtype = dtype_of(from);

    if (dtype == HT_DTYPE_COUNT) {
        HT_FAIL(NULL, HT_ERR_DTYPE,
                "%s: the elements have DLPack's type code %d, %d bits and %d lanes, which no "
                "dtype has",
                what, from->code, from->bits, from->lanes);
        return false;
    }
    if (from->ndim < 0 || from->ndim > HT_MAX_NDIM) {
        HT_FAIL(NULL, HT_ERR_SHAPE, "%s: the DLPack tensor has %" PRId32 " axes, expected 0 to %d",
                what, from->ndim, HT_MAX_NDIM);
        return false;
    }
    if (from->ndim > 0 && !ht__shape_counts(from->ndim, from->shape)) {
        HT_FAIL(NULL, HT_ERR_SHAPE,
                "%s: the shape is %s, expected lengths of at least 0 and fewer than 2^59 elements",
                what, ht__shape_str(from->ndim, from->shape));
        return false;
    }
    return true;
}

static void delete_it(void *managed)
{
    struct DLManagedTensor *self = managed;

    if (self->deleter != NULL)
        self->deleter(self);
}

static void delete_it_versioned(void *managed)
{
    struct DLManagedTensorVersioned *self = managed;

    if (self->deleter != NULL)
        self->deleter(self);
}

/* Complex numbers are aligned as their parts. Devices read both parts at once. */
static size_t alignment_of(ht_dtype dtype, const ht_device *device)
{
    const bool by_parts = ht_dtype_is_complex(dtype) && device->backend->host_memory;

    return ht_dtype_size(dtype) / (by_parts ? 2 : 1);
}

/* A storage begins with the lowest address, from which negative strides come back. */
static ht_tensor *borrow(const char *what, const dl_tensor *from, ht_device *device, bool read_only,
                         void (*done)(void *), void *managed)
{
    ht_dtype dtype = dtype_of(from);
    char *data = from->data != NULL ? (char *)from->data + from->byte_offset : NULL;
    ht_body *body = ht__body_on(NULL, ht_comm_self(), dtype, from->ndim, from->shape, HT_NONE,
                                NULL);

    if (body->lsize > 0 && (data == NULL || (uintptr_t)data % alignment_of(dtype, device) != 0)) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "%s: the elements are at %p, expected an address that is aligned for %s", what,
                (void *)data, ht_dtype_name(dtype));
        ht_release(body);
        return NULL;
    }
    for (int i = 0; i < body->ndim && from->strides != NULL; i++) {
        body->stride[i] = body->gstride[i] = from->strides[i];
        read_only |= body->shape[i] > 1 && body->stride[i] == 0;
        if (body->stride[i] < 0 && body->lsize > 0)
            body->offset -= body->stride[i] * (body->lshape[i] - 1);
    }
    if (body->lsize > 0)
        data -= body->offset * (int64_t)ht_dtype_size(dtype);
    body->read_only = read_only ? HT_BORROWED_MEMORY : HT_WRITABLE;
    body->storage = ht__storage_lend(device, data, done, managed);
    return ht__tensor_new(body);
}

static ht_tensor *from_versioned(const char *what, struct DLManagedTensorVersioned *managed,
                                 ht_device *device)
{
    if (managed->major != MAJOR) {
        HT_FAIL(NULL, HT_ERR_STATE,
                "%s: the version is DLPack %" PRIu32 ".%" PRIu32 ", expected %d.x", what,
                managed->major, managed->minor, MAJOR);
        return NULL;
    }
    if (!can_borrow(what, &managed->tensor))
        return NULL;
    if (device == NULL)
        device = device_of(what, &managed->tensor);
    return device != NULL ? borrow(what, &managed->tensor, device,
                                   (managed->flags & READ_ONLY) != 0, delete_it_versioned, managed)
                          : NULL;
}

ht_tensor *ht_from_dlpack(struct DLManagedTensorVersioned *managed)
{
    static const char what[] = "ht_from_dlpack";

    if (managed == NULL) {
        ht__fail_null(NULL, what, "DLManagedTensorVersioned");
        return NULL;
    }
    return from_versioned(what, managed, NULL);
}

ht_tensor *ht_from_dlpack_ext(struct DLManagedTensorVersioned *managed, ht_device *device)
{
    static const char what[] = "ht_from_dlpack_ext";

    if (managed == NULL) {
        ht__fail_null(NULL, what, "DLManagedTensorVersioned");
        return NULL;
    }
    return HT_IS_NULL(device, what, "device") ? NULL : from_versioned(what, managed, device);
}

ht_tensor *ht_from_dlpack_unversioned(struct DLManagedTensor *managed)
{
    static const char what[] = "ht_from_dlpack_unversioned";
    ht_device *device;

    if (managed == NULL) {
        ht__fail_null(NULL, what, "DLManagedTensor");
        return NULL;
    }
    if (!can_borrow(what, &managed->tensor))
        return NULL;
    device = device_of(what, &managed->tensor);
    return device != NULL ? borrow(what, &managed->tensor, device, false, delete_it, managed)
                          : NULL;
}
