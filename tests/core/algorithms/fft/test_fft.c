/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

typedef ht_tensor *fft_fn(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);
typedef ht_tensor *fftn_fn(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                           const int axes[], ht_fft_norm norm);

/* The effect of a transform, and its forms. */
static const struct transform {
    const char *name;
    fft_fn *line;
    ht_tensor *(*plane)(ht_tensor *x), *(*all)(ht_tensor *x);
    fftn_fn *plane_ext, *all_ext;
    int sign;
    bool forward, real_in, real_out;
} transforms[] = {
    {"fft", ht_fft, ht_fft2, ht_fftn, ht_fft2_ext, ht_fftn_ext, -1, true, false, false},
    {"ifft", ht_ifft, ht_ifft2, ht_ifftn, ht_ifft2_ext, ht_ifftn_ext, 1, false, false, false},
    {"rfft", ht_rfft, ht_rfft2, ht_rfftn, ht_rfft2_ext, ht_rfftn_ext, -1, true, true, false},
    {"irfft", ht_irfft, ht_irfft2, ht_irfftn, ht_irfft2_ext, ht_irfftn_ext, 1, false, false, true},
    {"hfft", ht_hfft, ht_hfft2, ht_hfftn, ht_hfft2_ext, ht_hfftn_ext, -1, true, false, true},
    {"ihfft", ht_ihfft, ht_ihfft2, ht_ihfftn, ht_ihfft2_ext, ht_ihfftn_ext, 1, false, true, false},
};
enum { TRANSFORMS = sizeof transforms / sizeof *transforms };

/* A row-major array of the references. */
struct array {
    int ndim;
    int64_t shape[4];
    double complex *at;
};

static int64_t product(const int64_t *shape, int from, int to)
{
    int64_t n = 1;

    for (int i = from; i < to; i++)
        n *= shape[i];
    return n;
}

static struct array array_of(ht_tensor *x)
{
    struct array a = {.ndim = ht_tensor_ndim(x)};
    const int64_t n = ht_tensor_size(x);
    const double *re = ht_test_values(ht_real(x));
    const double *im = ht_test_values(ht_imag(x));

    for (int i = 0; i < a.ndim; i++)
        a.shape[i] = ht_tensor_shape(x)[i];
    a.at = calloc((size_t)n + 1, sizeof *a.at);
    for (int64_t i = 0; i < n; i++)
        a.at[i] = re[i] + im[i] * I;
    return a;
}

/* out[k] = sum over j of line[j] exp(sign 2 pi i j k / n). */
static void dft(int64_t n, int sign, const double complex *line, double complex *out)
{
    double complex *roots = malloc((size_t)n * sizeof *roots);

    for (int64_t k = 0; k < n; k++)
        roots[k] = cexp(sign * 2 * M_PI * I * ((double)k / (double)n));
    for (int64_t k = 0; k < n; k++) {
        out[k] = 0;
        for (int64_t j = 0, e = 0; j < n; j++, e = (e + k) % n)
            out[k] += line[j] * roots[e];
    }
    free(roots);
}

static double scale_of(ht_fft_norm norm, bool forward, int64_t n)
{
    if (norm == HT_FFT_ORTHO)
        return 1 / sqrt((double)n);
    return (norm == HT_FFT_FORWARD) == forward ? 1 / (double)n : 1;
}

/* The transform along one axis by the definition; real: t's own reals, not those of others' axes.
 */
static struct array reference(const struct transform *t, bool real, const struct array *x, int axis,
                              int64_t n, ht_fft_norm norm)
{
    const bool from_half = real && t->real_out, to_half = real && t->real_in;
    const int64_t length = x->shape[axis], outer = product(x->shape, 0, axis);
    const int64_t inner = product(x->shape, axis + 1, x->ndim);
    double complex *line, *out;
    struct array y = *x;
    int64_t count;

    n = n != HT_NONE ? n : from_half ? 2 * (length - 1) : length;
    count = to_half ? n / 2 + 1 : n;
    y.shape[axis] = count;
    y.at = calloc((size_t)(outer * inner * count) + 1, sizeof *y.at);
    line = malloc((size_t)n * sizeof *line);
    out = malloc((size_t)n * sizeof *out);
    for (int64_t o = 0; o < outer * inner; o++) {
        const int64_t i = o % inner, first = o / inner * length * inner + i;

        for (int64_t j = 0; j < n; j++) {
            const bool mirrored = from_half && j > n / 2;
            const int64_t at = mirrored ? n - j : j;
            double complex a = at < length ? x->at[first + at * inner] : 0;

            line[j] = from_half && (j == 0 || 2 * j == n) ? creal(a) : mirrored ? conj(a) : a;
        }
        dft(n, t->sign, line, out);
        for (int64_t k = 0; k < count; k++)
            y.at[(o / inner * count + k) * inner + i] = scale_of(norm, t->forward, n) * out[k];
    }
    free(line);
    free(out);
    return y;
}

/* Relative to the largest, as errors of transforms are. */
static void expect(const char *name, ht_tensor *y, const struct array *expected, double tolerance)
{
    const double *re, *im;
    double largest = 0;

    assert_non_null(y);
    assert_int_equal(ht_tensor_ndim(y), expected->ndim);
    for (int i = 0; i < expected->ndim; i++)
        assert_int_equal(ht_tensor_shape(y)[i], expected->shape[i]);
    re = ht_test_values(ht_real(y));
    im = ht_test_values(ht_imag(y));
    for (int64_t i = 0; i < ht_tensor_size(y); i++)
        largest = fmax(largest, cabs(expected->at[i]));
    for (int64_t i = 0; i < ht_tensor_size(y); i++) {
        const double error = cabs(re[i] + im[i] * I - expected->at[i]);

        if (!(error <= tolerance * largest))
            fail_msg("%s: element %lld of %lld is %g + %gi, expected %g + %gi", name, (long long)i,
                     (long long)ht_tensor_size(y), re[i], im[i], creal(expected->at[i]),
                     cimag(expected->at[i]));
    }
}

static ht_tensor *operand(const struct transform *t, int ndim, const int64_t shape[],
                          ht_dtype dtype, uint64_t seed)
{
    ht_tensor *re = ht_test_randn(ndim, shape, dtype, HT_NONE, seed);
    ht_tensor *im = ht_test_randn(ndim, shape, dtype, HT_NONE, seed + 100);

    return t->real_in ? re : ht_add(re, ht_mul_scalar_ext(im, HT_COMPLEX(0, 1)));
}

static double tolerance_of(ht_dtype dtype, int64_t n)
{
    return (dtype == HT_FLOAT32 ? 4e-7 : 1e-15) * (4 + log2((double)n + 1));
}

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

/* Transforms of one shape, along each axis, of every split; slabs of even splits and of narrowed
 * ones. */
static void check_lines(const struct transform *t, int ndim, const int64_t shape[], int64_t n,
                        ht_dtype dtype, ht_fft_norm norm)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = operand(t, ndim, shape, dtype, 5);
    struct array in = array_of(x);

    for (int axis = 0; axis < ndim; axis++) {
        struct array out = reference(t, true, &in, axis, n, norm);

        for (int split = -1; split < ndim; split++) {
            ht_tensor *part = ht_resplit(x, split_of(split));
            ht_tensor *y = t->line(part, n, axis - ndim, norm);

            expect(t->name, y, &out, tolerance_of(dtype, out.shape[axis]));
            assert_int_equal(ht_tensor_split(y), split_of(split));
            assert_int_equal(ht_dtype_is_complex(ht_tensor_dtype(y)), !t->real_out);
            assert_true(ht_dtype_size(ht_tensor_dtype(y)) ==
                        ht_dtype_size(dtype) * (t->real_out ? 1 : 2));
            if (split >= 0 && shape[split] > 0) { /* uneven, with empty parts */
                ht_tensor *around = ht_concatenate(2, (ht_tensor *[]){part, part}, split);

                part = ht_narrow(around, split, shape[split], 2 * shape[split]);
                y = t->line(part, n, axis, norm);
                expect(t->name, y, &out, tolerance_of(dtype, out.shape[axis]));
                if (axis != split) /* padded or not, nothing travels */
                    assert_int_equal(ht_tensor_lshape(y)[split], ht_tensor_lshape(part)[split]);
            }
        }
        free(out.at);
    }
    free(in.at);
    ht_scope_close(scope);
}

static void lines_are_transformed_along_any_axis_of_any_split(void **state)
{
    (void)state;
    for (int i = 0; i < TRANSFORMS; i++) {
        check_lines(&transforms[i], 1, (const int64_t[]){12}, HT_NONE, HT_FLOAT64, HT_FFT_BACKWARD);
        check_lines(&transforms[i], 1, (const int64_t[]){17}, 34, HT_FLOAT32, HT_FFT_ORTHO);
        check_lines(&transforms[i], 2, (const int64_t[]){5, 8}, HT_NONE, HT_FLOAT32,
                    HT_FFT_FORWARD);
        check_lines(&transforms[i], 3, (const int64_t[]){3, 4, 5}, 7, HT_FLOAT64, HT_FFT_ORTHO);
        check_lines(&transforms[i], 2, (const int64_t[]){2, 9}, 4, HT_FLOAT64, HT_FFT_FORWARD);
        check_lines(&transforms[i], 2, (const int64_t[]){1, 3}, 1, HT_FLOAT64, HT_FFT_BACKWARD);
    }
}

/* By four steps (with factors that the ranks divide and that they do not), and as a convolution. */
static void long_vectors_are_shared_by_all_ranks(void **state)
{
    static const struct {
        int which;
        int64_t shape, n;
        ht_dtype dtype;
    } rows[] = {{0, 1764, HT_NONE, HT_FLOAT64}, {1, 1287, HT_NONE, HT_FLOAT64},
                {0, 1031, HT_NONE, HT_FLOAT64}, {1, 2063, HT_NONE, HT_FLOAT32},
                {2, 1764, HT_NONE, HT_FLOAT64}, {3, 1100, 2100, HT_FLOAT64},
                {4, 700, 1035, HT_FLOAT64},     {5, 1500, 1033, HT_FLOAT64}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_lines(&transforms[rows[i].which], 1, &rows[i].shape, rows[i].n, rows[i].dtype,
                    HT_FFT_BACKWARD);
}

/* Fewer lines than ranks, but more than one. */
static void few_long_lines_are_shared_by_all_ranks(void **state)
{
    const int64_t shape[2] = {2, 1040};
    ht_tensor *x = operand(&transforms[0], 2, shape, HT_FLOAT64, 9);
    struct array in = array_of(x),
                 out = reference(&transforms[0], true, &in, 1, HT_NONE, HT_FFT_BACKWARD);

    (void)state;
    expect("fft", ht_fft(ht_resplit(x, 1), HT_NONE, 1, HT_FFT_BACKWARD), &out, 2e-14);
    free(in.at);
    free(out.at);
}

static struct array reference_of_axes(const struct transform *t, const struct array *x, int count,
                                      const int axes[], const int64_t s[], ht_fft_norm norm)
{
    const bool last_first = !t->real_out;
    struct array y = *x;

    for (int k = 0; k < count; k++) {
        const int i = last_first ? count - 1 - k : k;
        struct array next = reference(t, i == count - 1, &y, axes[i], s != NULL ? s[i] : HT_NONE,
                                      norm);

        if (k > 0)
            free(y.at);
        y = next;
    }
    return y;
}

static void check_axes(const struct transform *t, ht_dtype dtype)
{
    const int64_t shape[3] = {4, 5, 6}, s[2] = {3, 8};
    const int two[2] = {2, 0}, last[2] = {1, 2}, all[3] = {0, 1, 2};
    const double tolerance = tolerance_of(dtype, 120);
    ht_tensor *x = operand(t, 3, shape, dtype, 7);
    struct array in = array_of(x);
    struct array some = reference_of_axes(t, &in, 2, two, s, HT_FFT_ORTHO);
    struct array plane = reference_of_axes(t, &in, 2, last, NULL, HT_FFT_BACKWARD);
    struct array cut = reference_of_axes(t, &in, 2, last, s, HT_FFT_FORWARD);
    struct array whole = reference_of_axes(t, &in, 3, all, NULL, HT_FFT_BACKWARD);

    for (int split = -1; split < 3; split++) {
        ht_tensor *part = ht_resplit(x, split_of(split));

        expect(t->name, t->plane(part), &plane, tolerance);
        expect(t->name, t->all(part), &whole, tolerance);
        expect(t->name, t->all_ext(part, 2, s, 2, two, HT_FFT_ORTHO), &some, tolerance);
        expect(t->name, t->plane_ext(part, 2, s, 2, two, HT_FFT_ORTHO), &some, tolerance);
        expect(t->name, t->all_ext(part, 2, s, 0, NULL, HT_FFT_FORWARD), &cut, tolerance);
        expect(t->name, t->plane_ext(part, 0, NULL, 0, NULL, HT_FFT_BACKWARD), &plane, tolerance);
    }
    free(in.at);
    free(some.at);
    free(plane.at);
    free(cut.at);
    free(whole.at);
}

static void several_axes_are_transformed_one_after_another(void **state)
{
    (void)state;
    for (int i = 0; i < TRANSFORMS; i++) {
        check_axes(&transforms[i], HT_FLOAT64);
        check_axes(&transforms[i], HT_FLOAT32);
    }
}

/* Strided views, and integers. */
static void views_and_integers_are_transformed_too(void **state)
{
    ht_tensor *x = ht_reshape(ht_arange(0, 24, 1, HT_INT32, HT_NONE), HT_SHAPE(4, 6));

    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *part = ht_resplit(x, split_of(split));
        ht_tensor *turned = ht_flip(ht_transpose(part, 0, 1), 0, NULL);
        ht_tensor *plain = ht_copy(ht_astype(turned, HT_COMPLEX64));
        ht_tensor *y = ht_fft(turned, HT_NONE, 0, HT_FFT_BACKWARD);

        assert_int_equal(ht_tensor_dtype(y), HT_COMPLEX64);
        ht_test_expect_same(ht_abs(ht_sub(y, ht_fft(plain, HT_NONE, 0, HT_FFT_BACKWARD))),
                            ht_zeros(HT_SHAPE(6, 4), HT_FLOAT32, HT_NONE), 1e-5);
        assert_int_equal(
            ht_tensor_dtype(ht_rfft(ht_ne(part, ht_scalar(3)), HT_NONE, 1, HT_FFT_BACKWARD)),
            HT_COMPLEX64);
    }
    assert_int_equal(ht_tensor_size(ht_fft(ht_zeros(HT_SHAPE(0, 3), HT_FLOAT32, 0), HT_NONE, 1,
                                           HT_FFT_BACKWARD)),
                     0);
}

/* A real function of real x, for any transform: sums of parts with the weights of the check. */
static ht_tensor *parts(ht_tensor *z)
{
    return ht_concatenate(2, (ht_tensor *[]){ht_real(z), ht_imag(z)}, 0);
}

static ht_tensor *of_line(ht_tensor *inputs[], void *user)
{
    const struct transform *t = user;
    ht_tensor *x = inputs[0];

    if (!t->real_in)
        x = ht_add(x, ht_mul_scalar_ext(inputs[1], HT_COMPLEX(0, 1)));
    return parts(t->line(x, 5, 0, HT_FFT_ORTHO));
}

static ht_tensor *of_axes(ht_tensor *inputs[], void *user)
{
    const struct transform *t = user;
    ht_tensor *x = inputs[0];

    if (!t->real_in)
        x = ht_add(x, ht_mul_scalar_ext(inputs[1], HT_COMPLEX(0, 1)));
    return parts(t->all(x));
}

static void gradients_are_the_adjoint_transforms(void **state)
{
    (void)state;
    for (int i = 0; i < TRANSFORMS; i++) {
        for (int split = -1; split < 2; split++) {
            ht_tensor *in[2];

            for (int k = 0; k < 2; k++) {
                in[k] = ht_test_randn(HT_SHAPE(4, 3), HT_FLOAT64, split_of(split),
                                      (uint64_t)(k + 1));
                ht_tensor_set_requires_grad(in[k], true);
            }
            ht_test_gradcheck(of_line, transforms[i].real_in ? 1 : 2, in, (void *)&transforms[i],
                              1e-7);
            ht_test_gradcheck(of_axes, transforms[i].real_in ? 1 : 2, in, (void *)&transforms[i],
                              1e-7);
        }
    }
}

/* Without axes, complex numbers are their own transform: the same handle, and no reference more. */
static void no_axes_give_the_operand(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(2, 2), HT_COMPLEX64, 0);
    ht_tensor *y = ht_fftn_ext(x, 0, NULL, 0, (const int[]){0}, HT_FFT_BACKWARD);
    const int64_t before = ht_live_objects("tensor");
    ht_scope *scope = ht_scope_open();

    (void)state;
    assert_ptr_equal(y, x);
    x = ht_retain(ht_ones(HT_SHAPE(2), HT_COMPLEX64, HT_LOCAL));
    assert_ptr_equal(ht_fftn_ext(x, 0, NULL, 0, (const int[]){0}, HT_FFT_BACKWARD), x);
    ht_scope_close(scope);
    ht_release(x);
    assert_int_equal(ht_live_objects("tensor"), before);
}

static void misuse_is_named(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(2, 3), HT_FLOAT32, 0);
    ht_tensor *z = ht_ones(HT_SHAPE(2, 1), HT_COMPLEX64, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_fft(x, 0, 1, HT_FFT_BACKWARD), HT_ERR_ARGUMENT,
                         "ht_fft: n is 0 along axis 1 of x of shape (2, 3), expected at least 1");
    HT_TEST_EXPECT_ERROR(ht_irfft(z, HT_NONE, 1, HT_FFT_BACKWARD), HT_ERR_ARGUMENT,
                         "n would be 0 along axis 1");
    HT_TEST_EXPECT_ERROR(ht_fft(x, INT64_C(1) << 60, 0, HT_FFT_BACKWARD), HT_ERR_SHAPE, "ht_fft: ");
    HT_TEST_EXPECT_ERROR(ht_rfftn_ext(x, HT_SHAPE(INT64_C(1) << 60), HT_AXES(1), HT_FFT_BACKWARD),
                         HT_ERR_SHAPE, "ht_rfftn_ext: ");
    HT_TEST_EXPECT_ERROR(ht_fft(x, HT_NONE, 2, HT_FFT_BACKWARD), HT_ERR_ARGUMENT,
                         "ht_fft: axis 2 is outside x of shape (2, 3)");
    HT_TEST_EXPECT_ERROR(ht_fft(x, HT_NONE, 0, (ht_fft_norm)3), HT_ERR_ARGUMENT,
                         "norm is 3, expected an ht_fft_norm");
    HT_TEST_EXPECT_ERROR(ht_rfft(z, HT_NONE, 0, HT_FFT_BACKWARD), HT_ERR_DTYPE,
                         "ht_rfft: x is complex64, expected real numbers");
    HT_TEST_EXPECT_ERROR(ht_ifft(ht_astype(x, HT_BFLOAT16), HT_NONE, 0, HT_FFT_BACKWARD),
                         HT_ERR_DTYPE, "ht_ifft: x is bfloat16, expected numbers of 32 bits");
    /* before x is padded to more bytes than there are */
    HT_TEST_EXPECT_ERROR(ht_hfft(ht_astype(x, HT_FLOAT16), INT64_C(1) << 58, 0, HT_FFT_BACKWARD),
                         HT_ERR_DTYPE, "ht_hfft: x is float16, expected numbers of 32 bits");
    HT_TEST_EXPECT_ERROR(ht_rfftn_ext(z, HT_SHAPE(INT64_C(1) << 58), HT_AXES(1), HT_FFT_BACKWARD),
                         HT_ERR_DTYPE, "ht_rfftn_ext: x is complex64, expected real numbers");
    HT_TEST_EXPECT_ERROR(
        ht_fft2_ext(z, HT_SHAPE(INT64_C(1) << 58, 0), HT_AXES(0, 1), HT_FFT_BACKWARD),
        HT_ERR_ARGUMENT, "ht_fft2_ext: s is 0 along axis 1 of x of shape (2, 1)");
    HT_TEST_EXPECT_ERROR(ht_fftn_ext(x, 0, NULL, HT_AXES(1, -1), HT_FFT_BACKWARD), HT_ERR_ARGUMENT,
                         "ht_fftn_ext: axis 1 is given twice");
    HT_TEST_EXPECT_ERROR(ht_fft2_ext(x, HT_SHAPE(1), HT_AXES(0, 1), HT_FFT_BACKWARD),
                         HT_ERR_ARGUMENT, "ht_fft2_ext: 2 axes and 1 lengths");
    HT_TEST_EXPECT_ERROR(ht_rfftn_ext(x, 0, NULL, 0, (const int[]){0}, HT_FFT_BACKWARD),
                         HT_ERR_ARGUMENT,
                         "ht_rfftn_ext: the list of axes is empty, expected at "
                         "least one axis");
    HT_TEST_EXPECT_ERROR(ht_fft2(ht_ones(HT_SHAPE(3), HT_FLOAT32, 0)), HT_ERR_ARGUMENT,
                         "ht_fft2: x is (3,), expected at least 2 axes");
    HT_TEST_EXPECT_ERROR(ht_fftfreq(0, 1, 0), HT_ERR_ARGUMENT, "ht_fftfreq: n is 0");
    HT_TEST_EXPECT_ERROR(ht_fftshift(x, HT_AXES(3)), HT_ERR_ARGUMENT, "ht_fftshift: axis 3");
}

HT_TEST_SUITE(test_fft, cmocka_unit_test(lines_are_transformed_along_any_axis_of_any_split),
              cmocka_unit_test(long_vectors_are_shared_by_all_ranks),
              cmocka_unit_test(few_long_lines_are_shared_by_all_ranks),
              cmocka_unit_test(several_axes_are_transformed_one_after_another),
              cmocka_unit_test(views_and_integers_are_transformed_too),
              cmocka_unit_test(gradients_are_the_adjoint_transforms),
              cmocka_unit_test(no_axes_give_the_operand), cmocka_unit_test(misuse_is_named));
