/* ranks 1 3 */
/* SPDX-License-Identifier: MIT */
/* IDX files made here, plain and gzipped, come out of the HDF5 file byte for byte. Each kind of bad
 * input is one message and leaves no file. The real images have their known counts. */
#include "core/tensor/tensor.h"
#include "ht_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "files.h"
#include "ht/data.h"
#include "ht/io.h"
#include "tensor_check.h"

enum { TRAIN = 300, TEST = 7, H = 3, W = 2 };

static uint8_t value(int set, int i, int j)
{
    return (uint8_t)(set * 50 + 7 * i + 31 * j);
}

static size_t put_header(uint8_t *bytes, int magic, int ndim, const int shape[])
{
    const int words[] = {magic, shape[0], shape[1], shape[2]};

    for (int i = 0; i <= ndim; i++) {
        for (int b = 0; b < 4; b++)
            bytes[4 * i + b] = (uint8_t)(words[i] >> (24 - 8 * b));
    }
    return 4 + 4 * (size_t)ndim;
}

static void put_file(const char *name, const uint8_t *bytes, size_t count)
{
    bool gz = strstr(name, ".gz") != NULL;
    gzFile file = gzopen(files_path(name), gz ? "wb" : "wbT"); /* T: plain */

    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)count), count);
    gzclose(file);
}

static void put_images(const char *name, int set, int rows, int magic, int missing)
{
    static uint8_t bytes[16 + TRAIN * H * W + 16];
    size_t at = put_header(bytes, magic, 3, (int[]){rows, H, W});

    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < H * W; j++)
            bytes[at++] = value(set, i, j);
    }
    put_file(name, bytes, at - (size_t)missing);
}

static void put_labels(const char *name, int set, int rows)
{
    static uint8_t bytes[8 + TRAIN];
    size_t at = put_header(bytes, 0x801, 1, (int[]){rows, 0, 0});

    for (int i = 0; i < rows; i++)
        bytes[at++] = value(set, i, 0) % 10;
    put_file(name, bytes, at);
}

/* A good folder; mixed plain and gzipped. Rank 0's work, as the conversion is. */
static void put_all(void)
{
    put_images("train-images-idx3-ubyte", 0, TRAIN, 0x803, 0);
    put_labels("train-labels-idx1-ubyte.gz", 0, TRAIN);
    put_images("t10k-images-idx3-ubyte.gz", 1, TEST, 0x803, 0);
    put_labels("t10k-labels-idx1-ubyte", 1, TEST);
}

static void check_images(const char *file, const char *name, int set, int rows)
{
    ht_tensor *x = ht_load_hdf5(files_path(file), name, HT_UINT8, HT_NONE);
    const uint8_t *bytes = ht_test_data(x);

    assert_int_equal(ht_tensor_ndim(x), 3);
    assert_int_equal(ht_tensor_shape(x)[0], rows);
    assert_int_equal(ht_tensor_shape(x)[1], H);
    assert_int_equal(ht_tensor_shape(x)[2], W);
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < H * W; j++)
            assert_int_equal(bytes[i * H * W + j], value(set, i, j));
    }
}

static void check_labels(const char *file, const char *name, int set, int rows)
{
    ht_tensor *x = ht_load_hdf5(files_path(file), name, HT_UINT8, HT_NONE);

    assert_int_equal(ht_tensor_ndim(x), 1);
    assert_int_equal(ht_tensor_shape(x)[0], rows);
    for (int i = 0; i < rows; i++)
        assert_int_equal(((const uint8_t *)ht_test_data(x))[i], value(set, i, 0) % 10);
}

static void converts_plain_and_gzipped(void **state)
{
    (void)state;
    files_open();
    if (ht_test_rank == 0) {
        put_all();
        assert_int_equal(ht_idx_to_hdf5(files_path("."), files_path("out.h5")), HT_SUCCESS);
    }
    ht_barrier(HT_COMM_WORLD);
    check_images("out.h5", "train/images", 0, TRAIN);
    check_labels("out.h5", "train/labels", 0, TRAIN);
    check_images("out.h5", "test/images", 1, TEST);
    check_labels("out.h5", "test/labels", 1, TEST);
    files_remove();
}

/* The permissions of a file that is replaced, and a link that leads to it. */
static void permissions_and_links_stay(void **state)
{
    struct stat info;
    int file;

    (void)state;
    files_open();
    if (ht_test_rank == 0) {
        put_all();
        file = open(files_path("out.h5"), O_CREAT | O_WRONLY, 0600);
        assert_true(file >= 0);
        close(file);
        assert_int_equal(symlink("out.h5", files_path("link.h5")), 0);
        assert_int_equal(ht_idx_to_hdf5(files_path("."), files_path("link.h5")), HT_SUCCESS);
        assert_int_equal(lstat(files_path("link.h5"), &info), 0);
        assert_true(S_ISLNK(info.st_mode));
        assert_int_equal(stat(files_path("out.h5"), &info), 0);
        assert_int_equal(info.st_mode & 0777, 0600);
    }
    ht_barrier(HT_COMM_WORLD);
    check_labels("out.h5", "test/labels", 1, TEST);
    files_remove();
}

struct told {
    int calls;
    int64_t done;
};

static void tell(int64_t done, int64_t total, void *user)
{
    struct told *told = user;

    assert_int_equal(total, 2 * (TRAIN + TEST));
    assert_true(done > told->done && done <= total);
    told->done = done;
    told->calls++;
}

/* The same file, and after each chunk of four arrays at least how far it is. */
static void conversion_reports_its_progress(void **state)
{
    struct told told = {0};
    const char *message;

    (void)state;
    files_open();
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    if (ht_test_rank == 0) {
        put_all();
        assert_int_equal(ht_idx_to_hdf5_ext(files_path("."), files_path("out.h5"), tell, &told),
                         HT_SUCCESS);
        assert_int_equal(told.done, 2 * (TRAIN + TEST));
        assert_true(told.calls >= 4);
        told = (struct told){0};
        assert_int_equal(ht_idx_to_hdf5_ext(NULL, files_path("no.h5"), tell, &told),
                         HT_ERR_ARGUMENT);
        assert_int_equal(told.calls, 0);
        ht_error_get(&message);
        assert_string_equal(message, "ht_idx_to_hdf5_ext: folder or path is NULL");
        ht_error_clear();
    }
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_barrier(HT_COMM_WORLD);
    check_images("out.h5", "test/images", 1, TEST);
    check_labels("out.h5", "train/labels", 0, TRAIN);
    files_remove();
}

/* The conversion fails with `code` and a message with both texts, and leaves nothing behind. */
static void refused(const char *folder, ht_status code, const char *a, const char *b)
{
    char out[1024];
    const char *message;

    snprintf(out, sizeof out, "%s", files_path("out.h5"));
    assert_int_equal(ht_idx_to_hdf5(files_path(folder), out), code);
    ht_error_get(&message);
    if (strstr(message, a) == NULL || strstr(message, b) == NULL)
        fail_msg("\"%s\" and \"%s\" are not in \"%s\"", a, b, message);
    assert_int_not_equal(access(out, F_OK), 0);
    snprintf(out + strlen(out), 32, ".part-%ld", (long)getpid());
    assert_int_not_equal(access(out, F_OK), 0);
    ht_error_clear();
}

static void refuse_all(void)
{
    refused("nowhere", HT_ERR_IO, "nowhere", "No such file");
    refused(".", HT_ERR_IO, "holds no IDX files", "train-images-idx3-ubyte");
    put_all();
    unlink(files_path("t10k-labels-idx1-ubyte"));
    refused(".", HT_ERR_IO, "neither t10k-labels-idx1-ubyte", "nor");
    put_all();
    put_images("train-images-idx3-ubyte", 0, TRAIN, 0x0d03, 0);
    refused(".", HT_ERR_FORMAT, "train-images-idx3-ubyte", "expected 0x00000803, found 0x00000d03");
    put_images("train-images-idx3-ubyte", 0, TRAIN, 0x803, 10);
    refused(".", HT_ERR_FORMAT, "truncated", "expected 1816 bytes, found 1806");
    put_images("train-images-idx3-ubyte", 0, TRAIN, 0x803, 16 + TRAIN * H * W - 7);
    refused(".", HT_ERR_FORMAT, "truncated", "expected 16 bytes, found 7");
    put_images("train-images-idx3-ubyte", 0, TRAIN - 1, 0x803, 0);
    refused(".", HT_ERR_FORMAT, "299 images", "300 labels");
    put_images("train-images-idx3-ubyte", 0, TRAIN, 0x803, -5);
    refused(".", HT_ERR_FORMAT, "longer than its header says", "1816");
    put_all();
    assert_int_equal(truncate(files_path("t10k-images-idx3-ubyte.gz"), 40), 0);
    refused(".", HT_ERR_FORMAT, "t10k-images-idx3-ubyte.gz", "");
    put_all();
    unlink(files_path("t10k-labels-idx1-ubyte"));
    assert_int_equal(mkfifo(files_path("t10k-labels-idx1-ubyte"), 0600), 0);
    refused(".", HT_ERR_IO, "t10k-labels-idx1-ubyte", "it is a FIFO, not a file");
    unlink(files_path("t10k-labels-idx1-ubyte"));
    put_all();
    assert_int_equal(ht_idx_to_hdf5(files_path("."), files_path("no/where.h5")), HT_ERR_IO);
}

static void refuses_bad_input(void **state)
{
    (void)state;
    files_open();
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    if (ht_test_rank == 0)
        refuse_all();
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    files_remove();
}

static void converts_the_real_images(void **state)
{
    static const char fashion[] = "/usr/share/datasets/fashion-mnist";
    static const char *const sets[] = {"train/labels", "test/labels"};
    static const int each[] = {6000, 1000};

    (void)state;
    if (access(fashion, F_OK) != 0)
        HT_TEST_SKIP("dataset-fashion-mnist is not installed");
    files_open();
    if (ht_test_rank == 0)
        assert_int_equal(ht_idx_to_hdf5(fashion, files_path("fashion.h5")), HT_SUCCESS);
    ht_barrier(HT_COMM_WORLD);
    for (int s = 0; s < 2; s++) {
        ht_tensor *labels = ht_load_hdf5(files_path("fashion.h5"), sets[s], HT_UINT8, 0);
        int64_t histogram[256] = {0};

        assert_int_equal(ht_tensor_size(labels), 10 * each[s]);
        for (int64_t i = 0; i < ht_tensor_lsize(labels); i++)
            histogram[((const uint8_t *)ht_test_data(labels))[i]]++;
        ht__comm_allreduce_i64(HT_COMM_WORLD, histogram, 256, HT_OP_SUM, "histogram");
        for (int c = 0; c < 256; c++)
            assert_int_equal(histogram[c], c < 10 ? each[s] : 0);
    }
    files_remove();
}

HT_TEST_SUITE(test_idx_to_hdf5, cmocka_unit_test(converts_plain_and_gzipped),
              cmocka_unit_test(permissions_and_links_stay),
              cmocka_unit_test(conversion_reports_its_progress),
              cmocka_unit_test(refuses_bad_input), cmocka_unit_test(converts_the_real_images));
