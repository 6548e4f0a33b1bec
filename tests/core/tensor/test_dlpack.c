/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Memory lent to other libraries and borrowed from them. The structs are copied from dlpack.h,
 * except those of the library. */
#include "ht_test.h"
#include "tensor_check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ht/dlpack.h"

typedef struct DLTensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

enum { CODE_INT, CODE_UINT, CODE_FLOAT, CODE_BFLOAT = 4, CODE_COMPLEX, CODE_BOOL };

static ht_tensor *numbers(ht_dtype dtype)
{
    return ht_astype(ht_reshape(ht_arange(0, 12, 1, HT_FLOAT32, HT_LOCAL), HT_SHAPE(3, 4)), dtype);
}

/* There and back over one memory, by the device that has it. */
static void round_trip(ht_tensor *x)
{
    DLManagedTensorVersioned *lent = ht_to_dlpack(x);
    const void *address = lent->dl_tensor.data;
    ht_tensor *y = ht_from_dlpack_ext(lent, ht_tensor_device(x));

    assert_non_null(y);
    assert_int_equal(ht_tensor_dtype(y), ht_tensor_dtype(x));
    if (ht_tensor_size(x) > 0 && ht_test_on_host())
        assert_ptr_equal(ht_tensor_data(y), address);
    ht_test_expect_same(y, x, 0);
}

static void test_round_trips(void **state)
{
    (void)state;
    for (int i = 0; i < HT_DTYPE_COUNT; i++) {
        ht_tensor *x = numbers((ht_dtype)i);

        round_trip(x);
        round_trip(ht_transpose(x, 0, 1));
        round_trip(ht_narrow(x, 1, 1, 3));
        round_trip(ht_narrow(x, 0, 2, 2));
        round_trip(
            ht_getitem(x, HT_KEY(ht_slice_step(HT_OPEN, HT_OPEN, -1), ht_slice_step(3, 0, -2))));
        round_trip(ht_getitem(x, HT_KEY(1, 2)));
    }
}

/* A split tensor lends its local part. */
static void dlpack_lends_the_local_part_of_a_split_tensor(void **state)
{
    ht_tensor *x = ht_arange(0, 10, 1, HT_INT32, 0);
    DLManagedTensor *lent = ht_to_dlpack_unversioned(x);
    ht_tensor *y = lent->dl_tensor.device.type == 1 ? ht_from_dlpack_unversioned(lent) : NULL;

    (void)state;
    assert_int_equal(lent->dl_tensor.shape[0], ht_tensor_lshape(x)[0]);
    if (y == NULL)
        lent->deleter(lent);
    else
        ht_test_expect_same(y, ht_tensor_local(x), 0);
}

/* kDLCPU, kDLCUDA, and kDLExtDev for a device that DLPack does not know. */
static int device_type(ht_tensor *x)
{
    if (ht_test_on_host())
        return 1;
    return strncmp(ht_device_name(ht_tensor_device(x)), "cuda", 4) == 0 ? 2 : 12;
}

static void dlpack_describes_dtype_shape_and_strides(void **state)
{
    static const struct {
        ht_dtype dtype;
        int code, bits;
    } rows[] = {{HT_BOOL, CODE_BOOL, 8},        {HT_UINT8, CODE_UINT, 8},
                {HT_INT64, CODE_INT, 64},       {HT_FLOAT16, CODE_FLOAT, 16},
                {HT_BFLOAT16, CODE_BFLOAT, 16}, {HT_COMPLEX64, CODE_COMPLEX, 64}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ht_tensor *x = ht_transpose(numbers(rows[i].dtype), 0, 1);
        DLManagedTensorVersioned *lent = ht_to_dlpack(x);

        assert_int_equal(lent->version.major, 1);
        assert_int_equal(lent->flags, 0);
        assert_int_equal(lent->dl_tensor.device.type, device_type(x));
        assert_int_equal(lent->dl_tensor.dtype.code, rows[i].code);
        assert_int_equal(lent->dl_tensor.dtype.bits, rows[i].bits);
        assert_int_equal(lent->dl_tensor.dtype.lanes, 1);
        assert_int_equal(lent->dl_tensor.ndim, 2);
        assert_int_equal(lent->dl_tensor.shape[0], 4);
        assert_int_equal(lent->dl_tensor.strides[0], 1);
        assert_int_equal(lent->dl_tensor.strides[1], 4);
        lent->deleter(lent);
    }
}

/* A broadcast view is read-only, and stays so. */
static void test_read_only(void **state)
{
    ht_tensor *x = ht_broadcast_to(numbers(HT_FLOAT32), HT_SHAPE(2, 3, 4));
    DLManagedTensorVersioned *lent = ht_to_dlpack(x);
    ht_tensor *y;

    (void)state;
    assert_int_equal(lent->flags, 1);
    y = ht_from_dlpack_ext(lent, ht_tensor_device(x));
    ht_test_expect_same(y, x, 0);
    HT_TEST_EXPECT_ERROR(ht_fill_(x, 1), HT_ERR_STATE,
                         "ht_fill_: x is a read-only view (ht_broadcast_to)");
    HT_TEST_EXPECT_ERROR(ht_fill_(y, 1), HT_ERR_STATE,
                         "ht_fill_: x is read-only memory (ht_from_dlpack)");
    HT_TEST_EXPECT_ERROR(ht_to_dlpack_unversioned(x), HT_ERR_ARGUMENT,
                         "ht_to_dlpack_unversioned: x is read-only");
}

static int deleted;

static void count_deletion(DLManagedTensorVersioned *self)
{
    deleted++;
    free(self->dl_tensor.data);
    free(self);
}

/* Memory of another library, from an offset on. */
static DLManagedTensorVersioned *lend(int64_t shape[], int64_t strides[])
{
    DLManagedTensorVersioned *lent = calloc(1, sizeof *lent);
    int32_t *data = malloc(8 * sizeof *data);

    for (int i = 0; i < 8; i++)
        data[i] = i;
    lent->version.major = 1;
    lent->version.minor = 7;
    lent->deleter = count_deletion;
    lent->dl_tensor = (DLTensor){.data = data,
                                 .device = {1, 0},
                                 .ndim = 2,
                                 .dtype = {CODE_INT, 32, 1},
                                 .shape = shape,
                                 .strides = strides,
                                 .byte_offset = 2 * sizeof *data};
    return lent;
}

static void test_lifetime(void **state)
{
    int64_t shape[2] = {2, 3};
    ht_scope *scope = ht_scope_open();
    ht_tensor *row;

    (void)state;
    deleted = 0;
    row = ht_retain(ht_getitem(ht_from_dlpack(lend(shape, NULL)), HT_KEY(1)));
    ht_scope_close(scope);
    assert_int_equal(deleted, 0);
    ht_test_expect(row, (double[]){5, 6, 7}, 0);
    ht_fill_(row, 9);
    ht_test_expect(row, (double[]){9, 9, 9}, 0);
    ht_release(row);
    assert_int_equal(deleted, 1);
}

/* Strides that go back, and the last axis that lies still. */
static void test_strides(void **state)
{
    int64_t shape[2] = {2, 3}, back[2] = {3, -1}, still[2] = {1, 0};
    DLManagedTensorVersioned *lent = lend(shape, back);
    ht_tensor *x;

    (void)state;
    lent->dl_tensor.byte_offset = 4 * sizeof(int32_t);
    x = ht_from_dlpack(lent);
    ht_test_expect(x, (double[]){4, 3, 2, 7, 6, 5}, 0);
    ht_fill_(x, 1);
    ht_test_expect(x, (double[]){1, 1, 1, 1, 1, 1}, 0);
    x = ht_from_dlpack(lend(shape, still));
    ht_test_expect(x, (double[]){2, 2, 2, 3, 3, 3}, 0);
    HT_TEST_EXPECT_ERROR(ht_fill_(x, 1), HT_ERR_STATE,
                         "ht_fill_: x is read-only memory (ht_from_dlpack), expected a tensor that "
                         "can be written");
    HT_TEST_EXPECT_ERROR(ht_fill_(ht_narrow(x, 0, 0, 1), 1), HT_ERR_STATE,
                         "ht_fill_: x is read-only memory (ht_from_dlpack)");
}

/* On the host complex numbers are aligned as their parts; kernels of devices read both at once. */
static void devices_need_aligned_complex_numbers(void **state)
{
    ht_tensor *x = numbers(HT_COMPLEX128);
    DLManagedTensorVersioned *lent = ht_to_dlpack(x);
    ht_tensor *y;

    (void)state;
    lent->dl_tensor.shape[0] = 2; /* of 3 rows */
    lent->dl_tensor.byte_offset += sizeof(double);
    if (ht_test_on_host()) {
        y = ht_from_dlpack_ext(lent, ht_tensor_device(x));
        assert_ptr_equal(ht_tensor_data(y), (char *)lent->dl_tensor.data + sizeof(double));
    } else {
        const char *message;

        /* Each rank names its own address. */
        ht_test_errors_begin();
        assert_null(ht_from_dlpack_ext(lent, ht_tensor_device(x)));
        assert_int_equal(ht_error_get(&message), HT_ERR_ARGUMENT);
        assert_non_null(strstr(message, "expected an address that is aligned for complex128"));
        ht_error_clear();
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
        ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
        lent->deleter(lent);
    }
}

static void *delete_there(void *lent)
{
    ((DLManagedTensorVersioned *)lent)->deleter(lent);
    return NULL;
}

/* The tensor is released before its memory, which another thread returns. */
static void test_deleter_of_another_thread(void **state)
{
    ht_scope *scope = ht_scope_open();
    int64_t before = ht_live_objects("storage");
    DLManagedTensorVersioned *lent = ht_to_dlpack(numbers(HT_FLOAT64));
    pthread_t thread;

    (void)state;
    ht_scope_close(scope);
    assert_int_equal(ht_live_objects("storage"), before + 1);
    if (ht_test_on_host())
        assert_true(((const double *)lent->dl_tensor.data)[11] == 11);
    pthread_create(&thread, NULL, delete_there, lent);
    pthread_join(thread, NULL);
    assert_int_equal(ht_live_objects("storage"), before);
}

static void test_misuse(void **state)
{
    int64_t shape[2] = {2, 3};
    DLManagedTensorVersioned *lent = lend(shape, NULL);

    (void)state;
    deleted = 0;
    lent->dl_tensor.dtype.bits = 16;
    lent->dl_tensor.dtype.code = CODE_UINT;
    HT_TEST_EXPECT_ERROR(ht_from_dlpack(lent), HT_ERR_DTYPE,
                         "the elements have DLPack's type code 1, 16 bits and 1 lanes, which no "
                         "dtype has");
    lent->dl_tensor.dtype.bits = 8;
    lent->dl_tensor.device.type = 12;
    HT_TEST_EXPECT_ERROR(ht_from_dlpack(lent), HT_ERR_DEVICE, "device_type is 12");
    lent->dl_tensor.ndim = 9;
    HT_TEST_EXPECT_ERROR(ht_from_dlpack(lent), HT_ERR_SHAPE,
                         "the DLPack tensor has 9 axes, expected 0 to 8");
    lent->version.major = 2;
    HT_TEST_EXPECT_ERROR(ht_from_dlpack(lent), HT_ERR_STATE,
                         "the version is DLPack 2.7, expected 1.x");
    HT_TEST_EXPECT_ERROR(ht_from_dlpack(NULL), HT_ERR_ARGUMENT, "ht_from_dlpack");
    HT_TEST_EXPECT_ERROR(ht_to_dlpack(NULL), HT_ERR_ARGUMENT, "ht_to_dlpack: x is NULL");
    assert_int_equal(deleted, 0);
    lent->deleter(lent);
}

HT_TEST_SUITE(test_dlpack, cmocka_unit_test(test_round_trips),
              cmocka_unit_test(dlpack_lends_the_local_part_of_a_split_tensor),
              cmocka_unit_test(dlpack_describes_dtype_shape_and_strides),
              cmocka_unit_test(test_read_only), cmocka_unit_test(test_lifetime),
              cmocka_unit_test(test_strides),
              cmocka_unit_test(devices_need_aligned_complex_numbers),
              cmocka_unit_test(test_deleter_of_another_thread), cmocka_unit_test(test_misuse));
