/* SPDX-License-Identifier: MIT
 *
 * Steps of optimizers, all parameters of a call in one launch, or a few: each block has a piece of
 * one parameter. The operations and their order are those of backends/cpu/optim/update.inc.c,
 * and so are the bits. */
#include <math.h>

#include "backends/cuda/device.h"
#include "backends/cuda/fault.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/launch.h"
#include "ht/kernels/update.h"

enum { THREADS = 256, PIECE = 8 * THREADS, PARTS = 40 };

template <class real> struct part {
    real *param;
    const real *grad;
    real *state[HT_UPDATE_STATES];
    int64_t n;
    real rate, correction, weight; /* that depend on the step */
    bool first;                    /* step */
    uint32_t end;                  /* behind its last block */
};

template <class real> struct step_call {
    const ht_cuda_fault *fault;
    const double *factor, *unless;
    double grad_scale;
    real lr, decay, beta1, beta2, eps, momentum, weight1, weight2, undamped, shrink;
    bool maximize, nesterov, centered, amsgrad, with_momentum;
    int parts;
    part<real> part_of[PARTS];
};

static __forceinline__ __device__ float root(float x)
{
    return sqrtf(x);
}

static __forceinline__ __device__ double root(double x)
{
    return sqrt(x);
}

template <class real>
static __forceinline__ __device__ real gradient(const step_call<real> &u, real scale, real grad,
                                                real param)
{
    const real scaled = grad * scale;

    return u.decay != 0 ? scaled + u.decay * param : scaled;
}

/* Each rule has a step for element i of a part; rates() fills in what depends on the step. */
template <class type> struct sgd {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *, const ht_update_part *, part<real> *)
    {
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i)
    {
        const real g = gradient(u, scale, p.grad[i], p.param[i]);
        real *buffer = p.state[0];

        if (buffer == NULL) {
            p.param[i] -= u.lr * g;
            return;
        }
        const real next = p.first ? g : buffer[i] * u.momentum + u.undamped * g;

        buffer[i] = next;
        p.param[i] -= u.lr * (u.nesterov ? g + u.momentum * next : next);
    }
};

template <class type> struct adam {
    typedef type real;
    enum { may_decouple = true };
    static void rates(const ht_update_call *u, const ht_update_part *from, part<real> *p)
    {
        const double step = (double)from->step;

        p->correction = (real)sqrt(1 - pow(u->beta2, step));
        p->rate = (real)(u->lr / (1 - pow(u->beta1, step)));
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i)
    {
        const real param = p.param[i] * u.shrink;
        const real g = gradient(u, scale, p.grad[i], param);
        const real m = p.state[0][i] * u.beta1 + u.weight1 * g;
        real v = p.state[1][i] * u.beta2 + u.weight2 * g * g;

        p.state[0][i] = m;
        p.state[1][i] = v;
        if (u.amsgrad) {
            const real before = p.state[2][i];

            v = before > v || before != before ? before : v; /* NaN stays NaN */
            p.state[2][i] = v;
        }
        p.param[i] = param - p.rate * m / (root(v) / p.correction + u.eps);
    }
};

template <class type> struct adadelta {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *, const ht_update_part *, part<real> *)
    {
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i)
    {
        const real g = gradient(u, scale, p.grad[i], p.param[i]), before = p.state[1][i];
        const real s = p.state[0][i] * u.beta1 + u.weight1 * g * g;
        const real delta = root(before + u.eps) / root(s + u.eps) * g;

        p.state[0][i] = s;
        p.state[1][i] = before * u.beta1 + u.weight1 * delta * delta;
        p.param[i] -= u.lr * delta;
    }
};

template <class type> struct rmsprop {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *, const ht_update_part *, part<real> *)
    {
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i)
    {
        const real g = gradient(u, scale, p.grad[i], p.param[i]);
        const real s = p.state[0][i] * u.beta1 + u.weight1 * g * g;
        real spread = s, step;

        p.state[0][i] = s;
        if (u.centered) {
            const real m = p.state[1][i] * u.beta1 + u.weight1 * g;

            p.state[1][i] = m;
            spread = s - m * m;
            spread = spread < 0 ? 0 : spread;
        }
        step = g / (root(spread) + u.eps);
        if (u.with_momentum) {
            real *buffer = p.state[u.centered ? 2 : 1];

            buffer[i] = step = buffer[i] * u.momentum + step;
        }
        p.param[i] -= u.lr * step;
    }
};

template <class type> struct adagrad {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *u, const ht_update_part *from, part<real> *p)
    {
        const double step = (double)from->step;

        p->rate = (real)(u->lr / (1 + (step - 1) * u->beta1));
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i)
    {
        const real g = gradient(u, scale, p.grad[i], p.param[i]);
        const real s = p.state[0][i] + g * g;

        p.state[0][i] = s;
        p.param[i] -= p.rate * g / (root(s) + u.eps);
    }
};

template <class type> struct adamax {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *u, const ht_update_part *from, part<real> *p)
    {
        const double step = (double)from->step;

        p->rate = (real)(u->lr / (1 - pow(u->beta1, step)));
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i)
    {
        const real g = gradient(u, scale, p.grad[i], p.param[i]);
        const real m = p.state[0][i] * u.beta1 + u.weight1 * g;
        const real before = p.state[1][i] * u.beta2, now = (g < 0 ? -g : g) + u.eps;
        const real most = before > now || before != before ? before : now; /* NaN stays NaN */

        p.state[0][i] = m;
        p.state[1][i] = most;
        p.param[i] -= p.rate * m / most;
    }
};

/* rate is of the gradient, weight of its mean. */
template <class type> struct nadam {
    typedef type real;
    enum { may_decouple = true };
    static void rates(const ht_update_call *u, const ht_update_part *from, part<real> *p)
    {
        const double step = (double)from->step, mu = ht_nadam_mu(u, step);
        const double next = ht_nadam_mu(u, step + 1), product = from->number * mu;

        p->correction = (real)(1 - pow(u->beta2, step));
        p->rate = (real)(u->lr * (1 - mu) / (1 - product));
        p->weight = (real)(u->lr * next / (1 - product * next));
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i)
    {
        real param = p.param[i] * u.shrink;
        const real g = gradient(u, scale, p.grad[i], param);
        const real m = p.state[0][i] * u.beta1 + u.weight1 * g;
        const real v = p.state[1][i] * u.beta2 + u.weight2 * g * g;
        const real below = root(v / p.correction) + u.eps;

        p.state[0][i] = m;
        p.state[1][i] = v;
        param -= p.rate * g / below;
        p.param[i] = param - p.weight * m / below;
    }
};

/* correction 0: the step does not adapt. */
template <class type> struct radam {
    typedef type real;
    enum { may_decouple = true };
    static void rates(const ht_update_call *u, const ht_update_part *from, part<real> *p)
    {
        const double step = (double)from->step;

        p->rate = (real)(u->lr / (1 - pow(u->beta1, step)));
        p->correction = (real)ht_radam_rectified(u, step);
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i)
    {
        const real param = p.param[i] * u.shrink;
        const real g = gradient(u, scale, p.grad[i], param);
        const real m = p.state[0][i] * u.beta1 + u.weight1 * g;
        const real v = p.state[1][i] * u.beta2 + u.weight2 * g * g;

        p.state[0][i] = m;
        p.state[1][i] = v;
        p.param[i] = param - p.rate * m * (p.correction > 0 ? p.correction / (root(v) + u.eps) : 1);
    }
};

/* NaN in the product of both gradients leaves the size. */
template <class type> struct rprop {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *, const ht_update_part *, part<real> *)
    {
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i)
    {
        real g = p.grad[i] * scale;
        const real turn = g * p.state[0][i];
        real s = p.state[1][i] * (turn > 0 ? u.beta2 : turn < 0 ? u.beta1 : 1);

        s = s < u.eps ? u.eps : s;
        s = s > u.momentum ? u.momentum : s;
        g = turn < 0 ? 0 : g;
        p.state[1][i] = s;
        p.state[0][i] = g;
        p.param[i] -= g > 0 ? s : g < 0 ? -s : 0;
    }
};

/* correction is the decay, weight that of the step in the mean. */
template <class type> struct asgd {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *u, const ht_update_part *from, part<real> *p)
    {
        p->rate = (real)from->number;
        p->correction = (real)(1 - u->beta1 * from->number);
        p->weight = (real)ht_asgd_mu(u, (double)from->step);
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i)
    {
        const real g = gradient(u, scale, p.grad[i], p.param[i]), mean = p.state[0][i];
        const real param = p.param[i] * p.correction - p.rate * g;

        p.param[i] = param;
        p.state[0][i] = p.weight == 1 ? param : mean + (param - mean) * p.weight;
    }
};

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

    for (int64_t i = begin + threadIdx.x; i < end; i += THREADS)
        rule::step(u, p, signed_scale, i);
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
