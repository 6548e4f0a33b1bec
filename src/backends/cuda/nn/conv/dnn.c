/* SPDX-License-Identifier: MIT
 *
 * Convolutions by cuDNN, which is loaded at the first of them: a machine without it has the module
 * all the same.
 *
 * Only cuDNN's algorithms that multiply windows and weights are used. They give the same bits in
 * each run. By FFT or Winograd's method, an infinity or NaN of one pixel would reach others, whose
 * windows do not have it. */
#include "backends/cuda/nn/conv/dnn.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/library/handle.h"

#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif

#if defined CUDNN_MAJOR && CUDNN_MAJOR >= 9 /* whose errors have categories */
#include "backends/cuda/library/library.h"

#define MOST_BYTES ((size_t)256 << 20) /* of scratch memory */

enum { ALGORITHMS = 32, MOST_AXES = 2 + 3 };

/* clang-format off */
#define FUNCTIONS(X) \
    X(Create) X(Destroy) X(SetStream) \
    X(CreateTensorDescriptor) X(SetTensorNdDescriptorEx) X(DestroyTensorDescriptor) \
    X(CreateFilterDescriptor) X(SetFilterNdDescriptor) X(DestroyFilterDescriptor) \
    X(CreateConvolutionDescriptor) X(SetConvolutionNdDescriptor) X(SetConvolutionGroupCount) \
    X(SetConvolutionMathType) X(DestroyConvolutionDescriptor) \
    X(GetConvolutionForwardAlgorithm_v7) X(GetConvolutionForwardWorkspaceSize) X(ConvolutionForward) \
    X(GetConvolutionBackwardDataAlgorithm_v7) X(GetConvolutionBackwardDataWorkspaceSize) \
    X(ConvolutionBackwardData) \
    X(GetConvolutionBackwardFilterAlgorithm_v7) X(GetConvolutionBackwardFilterWorkspaceSize) \
    X(ConvolutionBackwardFilter)
/* clang-format on */

typedef struct dnn {
    cudnnHandle_t handle;
#define FIELD(name) __typeof__(cudnn##name) *name;
    FUNCTIONS(FIELD)
#undef FIELD
} dnn;

typedef struct plan {
    int way, algorithm;
    bool wide; /* numbers for cuDNN are float64 */
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t weight;
    cudnnConvolutionDescriptor_t conv;
} plan;

/* An error of cuDNN as one of the runtime. */
static int error_of(cudnnStatus_t status)
{
    switch (status) {
    case CUDNN_STATUS_SUCCESS:
        return cudaSuccess;
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
        return cudaErrorMemoryAllocation;
    default:
        return cudaErrorUnknown;
    }
}

static const char *const files[] = {"libcudnn.so." HT_CUDA_TEXT_OF(CUDNN_MAJOR), NULL};

static const ht_cuda_symbol symbols[] = {
#define ROW(name) {"cudnn" #name, offsetof(dnn, name)},
    FUNCTIONS(ROW)
#undef ROW
        {NULL, 0}};

int ht_cuda_dnn_new(void **made, void *stream, char *missing)
{
    dnn *d = calloc(1, sizeof *d);
    cudnnStatus_t status;

    *made = NULL;
    if (d == NULL)
        return cudaErrorMemoryAllocation;
    if (!ht_cuda_library_load(files, symbols, d, missing, HT_CUDA_MISSING_ROOM)) {
        free(d);
        return 0;
    }
    status = d->Create(&d->handle);
    if (status == CUDNN_STATUS_SUCCESS)
        status = d->SetStream(d->handle, stream);
    if (status != CUDNN_STATUS_SUCCESS) {
        snprintf(missing, HT_CUDA_MISSING_ROOM, "cudnnCreate: status %d", (int)status);
        ht_cuda_dnn_free(d);
        return error_of(status);
    }
    *made = d;
    return 0;
}

void ht_cuda_dnn_free(void *made)
{
    dnn *d = made;

    if (d != NULL && d->handle != NULL)
        d->Destroy(d->handle);
    free(d);
}

static cudnnDataType_t type_of(int dtype)
{
    switch (dtype) {
    case HT_FLOAT16:
        return CUDNN_DATA_HALF;
    case HT_BFLOAT16:
        return CUDNN_DATA_BFLOAT16;
    case HT_FLOAT32:
        return CUDNN_DATA_FLOAT;
    default:
        return CUDNN_DATA_DOUBLE;
    }
}

/* float32 is not cut to fewer digits; 16-bit products are exact, and summed in float32. */
static cudnnMathType_t math_of(int dtype)
{
    switch (dtype) {
    case HT_FLOAT16:
    case HT_BFLOAT16:
        return CUDNN_TENSOR_OP_MATH;
    case HT_FLOAT32:
        return CUDNN_FMA_MATH;
    default:
        return CUDNN_DEFAULT_MATH;
    }
}

static void plan_free(const dnn *d, plan *p)
{
    if (p == NULL)
        return;
    if (p->x != NULL)
        d->DestroyTensorDescriptor(p->x);
    if (p->y != NULL)
        d->DestroyTensorDescriptor(p->y);
    if (p->weight != NULL)
        d->DestroyFilterDescriptor(p->weight);
    if (p->conv != NULL)
        d->DestroyConvolutionDescriptor(p->conv);
    free(p);
}

static bool create(const dnn *d, plan *p)
{
    return d->CreateTensorDescriptor(&p->x) == CUDNN_STATUS_SUCCESS &&
           d->CreateTensorDescriptor(&p->y) == CUDNN_STATUS_SUCCESS &&
           d->CreateFilterDescriptor(&p->weight) == CUDNN_STATUS_SUCCESS &&
           d->CreateConvolutionDescriptor(&p->conv) == CUDNN_STATUS_SUCCESS;
}

static bool describe(const dnn *d, const plan *p, const ht_cuda_conv *c)
{
    const cudnnDataType_t type = type_of(c->dtype);
    const cudnnTensorFormat_t format = c->last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    const int axes = 2 + c->axes;
    int x[MOST_AXES] = {c->n, c->c}, weight[MOST_AXES] = {c->o, c->c / c->groups};
    int y[MOST_AXES] = {c->n, c->o};

    for (int axis = 0; axis < c->axes; axis++) {
        x[2 + axis] = c->in[axis];
        weight[2 + axis] = c->kernel[axis];
        y[2 + axis] = c->out[axis];
    }
    return d->SetTensorNdDescriptorEx(p->x, format, type, axes, x) == CUDNN_STATUS_SUCCESS &&
           d->SetTensorNdDescriptorEx(p->y, format, type, axes, y) == CUDNN_STATUS_SUCCESS &&
           d->SetFilterNdDescriptor(p->weight, type, format, axes, weight) ==
               CUDNN_STATUS_SUCCESS &&
           d->SetConvolutionNdDescriptor(
               p->conv, c->axes, c->padding, c->stride, c->dilation, CUDNN_CROSS_CORRELATION,
               p->wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT) == CUDNN_STATUS_SUCCESS &&
           d->SetConvolutionGroupCount(p->conv, c->groups) == CUDNN_STATUS_SUCCESS &&
           d->SetConvolutionMathType(p->conv, math_of(c->dtype)) == CUDNN_STATUS_SUCCESS;
}

/* Takes the first algorithm that serves, of those that cuDNN expects to be fast, in its order. allowed:
 * a bit for each that may be taken. */
#define CHOOSE(choose, Way, Performance, a, b, result, allowed)                                  \
    static bool choose(const dnn *d, plan *p, size_t *bytes)                                     \
    {                                                                                            \
        Performance found[ALGORITHMS];                                                           \
        int count = 0;                                                                           \
                                                                                                 \
        if (d->GetConvolution##Way##Algorithm_v7(d->handle, p->a, p->b, p->conv, p->result,      \
                                                 ALGORITHMS, &count,                             \
                                                 found) != CUDNN_STATUS_SUCCESS)                 \
            return false;                                                                        \
        for (int i = 0; i < count; i++) {                                                        \
            p->algorithm = (int)found[i].algo;                                                   \
            if (found[i].status == CUDNN_STATUS_SUCCESS &&                                       \
                found[i].determinism == CUDNN_DETERMINISTIC &&                                   \
                ((allowed) >> found[i].algo & 1) != 0 &&                                         \
                d->GetConvolution##Way##WorkspaceSize(d->handle, p->a, p->b, p->conv, p->result, \
                                                      found[i].algo,                             \
                                                      bytes) == CUDNN_STATUS_SUCCESS &&          \
                *bytes <= MOST_BYTES)                                                            \
                return true;                                                                     \
        }                                                                                        \
        return false;                                                                            \
    }
CHOOSE(choose_forward, Forward, cudnnConvolutionFwdAlgoPerf_t, x, weight, y,
       1 << CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM |
           1 << CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM |
           1 << CUDNN_CONVOLUTION_FWD_ALGO_GEMM)
CHOOSE(choose_data, BackwardData, cudnnConvolutionBwdDataAlgoPerf_t, weight, y, x,
       1 << CUDNN_CONVOLUTION_BWD_DATA_ALGO_1)
CHOOSE(choose_weight, BackwardFilter, cudnnConvolutionBwdFilterAlgoPerf_t, x, y, weight,
       1 << CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1)
#undef CHOOSE

/* By HT_CUDA_FORWARD, ... */
static bool (*const choose[])(const dnn *d, plan *p, size_t *bytes) = {choose_forward, choose_data,
                                                                       choose_weight};

void ht_cuda_dnn_plan(void *made, const ht_cuda_conv *conv, ht_cuda_conv_plan *to)
{
    const dnn *d = made;
    plan *p = calloc(1, sizeof *p);

    to->handle = NULL;
    if (p == NULL)
        return;
    p->way = conv->way;
    p->wide = conv->dtype == HT_FLOAT64;
    if (create(d, p) && describe(d, p, conv) && choose[p->way](d, p, &to->bytes))
        to->handle = p;
    else
        plan_free(d, p);
}

void ht_cuda_dnn_plan_free(void *made, ht_cuda_conv_plan *of)
{
    plan_free(made, of->handle);
}

/* Factors are float32, but for float64 tensors float64. */
typedef union factor {
    float narrow;
    double wide;
} factor;

static factor factor_of(const plan *p, int value)
{
    return p->wide ? (factor){.wide = value} : (factor){.narrow = (float)value};
}

static cudnnStatus_t run(const dnn *d, const plan *p, size_t bytes, const ht_cuda_conv_memory *m,
                         bool adds)
{
    const factor one = factor_of(p, 1), beta = factor_of(p, adds);

    switch (p->way) {
    case HT_CUDA_FORWARD:
        return d->ConvolutionForward(d->handle, &one, p->x, m->x, p->weight, m->weight, p->conv,
                                     (cudnnConvolutionFwdAlgo_t)p->algorithm, m->scratch, bytes,
                                     &beta, p->y, m->y);
    case HT_CUDA_BACKWARD_DATA:
        return d->ConvolutionBackwardData(d->handle, &one, p->weight, m->weight, p->y, m->y,
                                          p->conv, (cudnnConvolutionBwdDataAlgo_t)p->algorithm,
                                          m->scratch, bytes, &beta, p->x, m->x);
    default:
        return d->ConvolutionBackwardFilter(d->handle, &one, p->x, m->x, p->y, m->y, p->conv,
                                            (cudnnConvolutionBwdFilterAlgo_t)p->algorithm,
                                            m->scratch, bytes, &beta, p->weight, m->weight);
    }
}

int ht_cuda_dnn_run(void *made, const ht_cuda_conv_plan *of, const ht_cuda_conv_memory *memory,
                    bool adds, bool *done)
{
    const cudnnStatus_t status = run(made, of->handle, of->bytes, memory, adds);
    const int category = CUDNN_STATUS_CATEGORY(status);

    *done = category != CUDNN_STATUS_NOT_SUPPORTED && category != CUDNN_STATUS_BAD_PARAM;
    return *done ? error_of(status) : 0;
}
#else
int ht_cuda_dnn_new(void **made, void *stream, char *missing)
{
    (void)stream;
    (void)missing;
    *made = NULL;
    return 0;
}

void ht_cuda_dnn_free(void *made)
{
    (void)made;
}

void ht_cuda_dnn_plan(void *made, const ht_cuda_conv *conv, ht_cuda_conv_plan *plan)
{
    (void)made;
    (void)conv;
    plan->handle = NULL;
}

void ht_cuda_dnn_plan_free(void *made, ht_cuda_conv_plan *plan)
{
    (void)made;
    (void)plan;
}

int ht_cuda_dnn_run(void *made, const ht_cuda_conv_plan *plan, const ht_cuda_conv_memory *memory,
                    bool adds, bool *done)
{
    (void)made;
    (void)plan;
    (void)memory;
    (void)adds;
    *done = false;
    return 0;
}
#endif
