/* SPDX-License-Identifier: MIT
 *
 * Steps of optimizers, all parameters of a call in one launch, or a few: each block has a piece of
 * one parameter. The operations and their order are those of backends/cpu/optim/update.inc.c,
 * and so are the bits. */
#include "backends/cuda/device.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/optim/adagrad.h"
#include "backends/cuda/optim/adam.h"
#include "backends/cuda/optim/sgd.h"

/* A thread reads AHEAD elements before it takes the first step, because writes end what may be read
 * ahead. */
enum { THREADS = 256, PIECE = 8 * THREADS, AHEAD = 4 };

template <class rule> static __global__ void update_kernel(step_call<typename rule::real> u)
{
    typedef typename rule::real real;
    int k = 0;

    if (u.fault->stopped != 0 || (u.unless != NULL && *u.unless != 0))
        return;
    while (blockIdx.x >= u.part_of[k].end)
        k++;
    const part<real> &p = u.part_of[k];
    const double scale = u.factor != NULL ? u.grad_scale * *u.factor : u.grad_scale;
    const real signed_scale = (real)(u.maximize ? -scale : scale);
    const uint32_t piece = blockIdx.x - (k > 0 ? u.part_of[k - 1].end : 0);
    const int64_t begin = (int64_t)piece * PIECE, end = begin + PIECE < p.n ? begin + PIECE : p.n;

    HT_CUDA_ROLLED
    for (int64_t i = begin + threadIdx.x; i < end; i += AHEAD * THREADS) {
        element<real> x[AHEAD] = {};

        HT_CUDA_UNROLL
        for (int k = 0; k < AHEAD; k++)
            if (i + k * THREADS < end)
                x[k] = read_element(p, i + k * THREADS);
        HT_CUDA_UNROLL
        for (int k = 0; k < AHEAD; k++)
            if (i + k * THREADS < end)
                rule::step(u, p, signed_scale, i + k * THREADS, x[k]);
    }
}

template <class real> static void translate(const ht_update_call *call, step_call<real> *u)
{
    u->factor = (const double *)call->factor.data;
    u->unless = (const double *)call->unless.data;
    u->grad_scale = call->grad_scale;
    u->lr = (real)call->lr;
    u->decay = (real)call->weight_decay;
    u->shrink = 1;
    u->beta1 = (real)call->beta1;
    u->beta2 = (real)call->beta2;
    u->eps = (real)call->eps;
    u->momentum = (real)call->momentum;
    u->undamped = (real)(1 - call->dampening);
    u->weight1 = (real)(1 - call->beta1);
    u->weight2 = (real)(1 - call->beta2);
    u->maximize = call->maximize;
    u->nesterov = call->nesterov;
    u->centered = call->centered;
    u->amsgrad = call->amsgrad;
    u->with_momentum = call->momentum != 0;
    u->parts = 0;
}

/* Blocks are counted in 31 bits, which is enough for 2^42 elements. */
template <class rule>
static void add_part(const ht_update_call *call, const ht_update_part *from,
                     step_call<typename rule::real> *u)
{
    typedef typename rule::real real;
    part<real> *to = &u->part_of[u->parts];
    const uint32_t begin = u->parts > 0 ? to[-1].end : 0;

    *to = part<real>{};
    to->param = (real *)from->param.data;
    to->grad = (const real *)from->grad.data;
    for (int i = 0; i < HT_UPDATE_STATES; i++)
        to->state[i] = (real *)from->state[i].data;
    to->n = from->n;
    to->first = from->step == 1;
    to->end = begin + (uint32_t)((from->n + PIECE - 1) / PIECE);
    rule::rates(call, from, to);
    u->parts += from->n > 0;
}

/* Decoupled decay shrinks the parameter; not all rules have that option. */
template <class real> static void decouple(const ht_update_call *call, step_call<real> *u)
{
    u->decay = 0;
    u->shrink = (real)(1 - call->lr * call->weight_decay);
}

template <class rule> static int run_update(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = (ht_cuda_device *)stream;
    const ht_update_call *update = (const ht_update_call *)call;
    const char *row = (const char *)ht_update_parts(update);
    step_call<typename rule::real> u;

    if (ht_cuda_begin(device, call) != 0)
        return 1;
    translate(update, &u);
    u.fault = device->fault;
    if (rule::may_decouple && update->decoupled)
        decouple(update, &u);
    for (uint32_t i = 0; i < call->rows; i++, row += call->row_bytes) {
        add_part<rule>(update, (const ht_update_part *)row, &u);
        if (u.parts == PARTS || (i == call->rows - 1 && u.parts > 0)) {
            HT_CUDA_LAUNCH(update_kernel<rule>, u.part_of[u.parts - 1].end, THREADS, device->stream,
                           u);
            u.parts = 0;
        }
    }
    return ht_cuda_end(device, call);
}

void ht_cuda_add_update(ht_backend *backend)
{
#define ADD(name, rule)                                              \
    ht_cuda_add(backend, name, HT_FLOAT32, run_update<rule<float>>); \
    ht_cuda_add(backend, name, HT_FLOAT64, run_update<rule<double>>);
    ADD("UPDATE_SGD", sgd)
    ADD("UPDATE_ADAM", adam)
    ADD("UPDATE_ADADELTA", adadelta)
    ADD("UPDATE_RMSPROP", rmsprop)
    ADD("UPDATE_ADAGRAD", adagrad)
    ADD("UPDATE_ADAMAX", adamax)
    ADD("UPDATE_NADAM", nadam)
    ADD("UPDATE_RADAM", radam)
    ADD("UPDATE_RPROP", rprop)
    ADD("UPDATE_ASGD", asgd)
#undef ADD
}
