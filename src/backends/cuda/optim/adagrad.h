/* SPDX-License-Identifier: MIT
 *
 * Rules that divide by the root of a sum or mean of squares. */
#ifndef HT_BACKENDS_CUDA_OPTIM_ADAGRAD_H
#define HT_BACKENDS_CUDA_OPTIM_ADAGRAD_H

#include "backends/cuda/optim/step.h"

template <class type> struct adagrad {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *u, const ht_update_part *from, part<real> *p)
    {
        const double step = (double)from->step;

        p->rate = (real)(u->lr / (1 + (step - 1) * u->beta1));
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i, const element<real> &x)
    {
        const real g = gradient(u, scale, x.grad, x.param);
        const real s = x.state[0] + g * g;

        p.state[0][i] = s;
        p.param[i] = x.param - p.rate * g / (root(s) + u.eps);
    }
};

template <class type> struct adadelta {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *, const ht_update_part *, part<real> *)
    {
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i, const element<real> &x)
    {
        const real g = gradient(u, scale, x.grad, x.param), before = x.state[1];
        const real s = x.state[0] * u.beta1 + u.weight1 * g * g;
        const real delta = root(before + u.eps) / root(s + u.eps) * g;

        p.state[0][i] = s;
        p.state[1][i] = before * u.beta1 + u.weight1 * delta * delta;
        p.param[i] = x.param - u.lr * delta;
    }
};

template <class type> struct rmsprop {
    typedef type real;
    enum { may_decouple = false };
    static void rates(const ht_update_call *, const ht_update_part *, part<real> *)
    {
    }
    static __forceinline__ __device__ void step(const step_call<real> &u, const part<real> &p,
                                                real scale, int64_t i, const element<real> &x)
    {
        const real g = gradient(u, scale, x.grad, x.param);
        const real s = x.state[0] * u.beta1 + u.weight1 * g * g;
        real spread = s, step;

        p.state[0][i] = s;
        if (u.centered) {
            const real m = x.state[1] * u.beta1 + u.weight1 * g;

            p.state[1][i] = m;
            spread = s - m * m;
            spread = spread < 0 ? 0 : spread;
        }
        step = g / (root(spread) + u.eps);
        if (u.with_momentum) {
            real *buffer = p.state[u.centered ? 2 : 1];

            buffer[i] = step = buffer[i] * u.momentum + step;
        }
        p.param[i] = x.param - u.lr * step;
    }
};

#endif
