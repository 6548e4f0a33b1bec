/* SPDX-License-Identifier: MIT
 *
 * Adam and its like: a mean of the gradients over a mean of their squares, or their largest size. */
#ifndef HT_BACKENDS_CUDA_OPTIM_ADAM_H
#define HT_BACKENDS_CUDA_OPTIM_ADAM_H

#include "backends/cuda/optim/step.h"

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
                                                real scale, int64_t i, const element<real> &x)
    {
        const real param = x.param * u.shrink;
        const real g = gradient(u, scale, x.grad, param);
        const real m = x.state[0] * u.beta1 + u.weight1 * g;
        real v = x.state[1] * u.beta2 + u.weight2 * g * g;

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

template <class type> struct adamax {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *u, const ht_update_part *from, part<real> *p)
    {
        const double step = (double)from->step;

        p->rate = (real)(u->lr / (1 - pow(u->beta1, step)));
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i, const element<real> &x)
    {
        const real g = gradient(u, scale, x.grad, x.param);
        const real m = x.state[0] * u.beta1 + u.weight1 * g;
        const real before = x.state[1] * u.beta2, now = (g < 0 ? -g : g) + u.eps;
        const real most = before > now || before != before ? before : now; /* NaN stays NaN */

        p.state[0][i] = m;
        p.state[1][i] = most;
        p.param[i] = x.param - p.rate * m / most;
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
                                                real scale, int64_t i, const element<real> &x)
    {
        real param = x.param * u.shrink;
        const real g = gradient(u, scale, x.grad, param);
        const real m = x.state[0] * u.beta1 + u.weight1 * g;
        const real v = x.state[1] * u.beta2 + u.weight2 * g * g;
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
                                                real scale, int64_t i, const element<real> &x)
    {
        const real param = x.param * u.shrink;
        const real g = gradient(u, scale, x.grad, param);
        const real m = x.state[0] * u.beta1 + u.weight1 * g;
        const real v = x.state[1] * u.beta2 + u.weight2 * g * g;

        p.state[0][i] = m;
        p.state[1][i] = v;
        p.param[i] = param - p.rate * m * (p.correction > 0 ? p.correction / (root(v) + u.eps) : 1);
    }
};

#endif
