/* SPDX-License-Identifier: MIT
 *
 * Template: one step of an optimizer in one pass over parameter, gradient and state (n each), in
 * the order of operations of torch.optim's single-tensor code. */

#if HT_KIND == HT_KIND_FLOAT

/* The gradient that a step works with: scaled, its sign turned when maximizing, decayed. */
HT_INLINE T NAME(update_gradient)(T gradient, T scale, T parameter, T decay)
{
    T scaled = gradient * scale;

    return decay != 0 ? scaled + decay * parameter : scaled;
}

HT_INLINE T NAME(update_scale)(const ht_update *u)
{
    return (T)(u->maximize ? -u->grad_scale : u->grad_scale);
}

static void NAME(update_sgd_plain)(const ht_update *u)
{
    const T scale = NAME(update_scale)(u), lr = (T)u->lr, decay = (T)u->weight_decay;
    const T *gradient = u->grad;
    T *parameter = u->param;

    HT_VECTORIZE
    for (int64_t i = 0; i < u->n; i++)
        parameter[i] -= lr * NAME(update_gradient)(gradient[i], scale, parameter[i], decay);
}

/* The first step starts the buffer with the gradient: whatever is in it is not read. */
static void NAME(update_sgd_momentum)(const ht_update *u)
{
    const T scale = NAME(update_scale)(u), lr = (T)u->lr, decay = (T)u->weight_decay;
    const T momentum = (T)u->momentum, weight = (T)(1 - u->dampening);
    const bool first = u->first, nesterov = u->nesterov;
    const T *gradient = u->grad;
    T *parameter = u->param, *buffer = u->state[0];

    HT_VECTORIZE
    for (int64_t i = 0; i < u->n; i++) {
        T g = NAME(update_gradient)(gradient[i], scale, parameter[i], decay);
        T next = first ? g : buffer[i] * momentum + weight * g;

        buffer[i] = next;
        parameter[i] -= lr * (nesterov ? g + momentum * next : next);
    }
}

static void NAME(update_sgd)(const ht_update *u)
{
    if (u->state[0] == NULL)
        NAME(update_sgd_plain)(u);
    else
        NAME(update_sgd_momentum)(u);
}

static void NAME(update_adam)(const ht_update *u)
{
    const T scale = NAME(update_scale)(u), decay = u->decoupled ? 0 : (T)u->weight_decay;
    const T shrink = u->decoupled ? (T)(1 - u->lr * u->weight_decay) : 1;
    const T beta1 = (T)u->beta1, beta2 = (T)u->beta2, eps = (T)u->eps;
    const T weight1 = (T)(1 - u->beta1), weight2 = (T)(1 - u->beta2);
    const T correction2 = (T)sqrt(1 - pow(u->beta2, (double)u->step));
    const T step_size = (T)(u->lr / (1 - pow(u->beta1, (double)u->step)));
    const T *gradient = u->grad;
    T *parameter = u->param, *first = u->state[0], *second = u->state[1];

    HT_VECTORIZE
    for (int64_t i = 0; i < u->n; i++) {
        T p = parameter[i] * shrink;
        T g = NAME(update_gradient)(gradient[i], scale, p, decay);
        T m = first[i] * beta1 + weight1 * g;
        T v = second[i] * beta2 + weight2 * g * g;

        first[i] = m;
        second[i] = v;
        parameter[i] = p - step_size * m / (HT_MATH(sqrt, v) / correction2 + eps);
    }
}

static void NAME(update_adadelta)(const ht_update *u)
{
    const T scale = NAME(update_scale)(u), lr = (T)u->lr, decay = (T)u->weight_decay;
    const T rho = (T)u->beta1, weight = (T)(1 - u->beta1), eps = (T)u->eps;
    const T *gradient = u->grad;
    T *parameter = u->param, *square = u->state[0], *accumulated = u->state[1];

    HT_VECTORIZE
    for (int64_t i = 0; i < u->n; i++) {
        T g = NAME(update_gradient)(gradient[i], scale, parameter[i], decay);
        T s = square[i] * rho + weight * g * g;
        T delta = HT_MATH(sqrt, accumulated[i] + eps) / HT_MATH(sqrt, s + eps) * g;

        square[i] = s;
        accumulated[i] = accumulated[i] * rho + weight * delta * delta;
        parameter[i] -= lr * delta;
    }
}

/* Called with constants for the flags. Rounding can make a variance slightly negative, and its root
 * would be no number: it counts as 0. */
HT_INLINE void NAME(update_rmsprop_walk)(const ht_update *u, bool centered, bool with_momentum)
{
    const T scale = NAME(update_scale)(u), lr = (T)u->lr, decay = (T)u->weight_decay;
    const T alpha = (T)u->beta1, weight = (T)(1 - u->beta1), eps = (T)u->eps;
    const T momentum = (T)u->momentum;
    const T *gradient = u->grad;
    T *parameter = u->param, *square = u->state[0];
    T *mean = u->state[1], *buffer = u->state[centered ? 2 : 1];

    HT_VECTORIZE
    for (int64_t i = 0; i < u->n; i++) {
        T g = NAME(update_gradient)(gradient[i], scale, parameter[i], decay);
        T s = square[i] * alpha + weight * g * g, spread = s, step;

        square[i] = s;
        if (centered) {
            T m = mean[i] * alpha + weight * g;

            mean[i] = m;
            spread = s - m * m;
            spread = spread < 0 ? 0 : spread;
        }
        step = g / (HT_MATH(sqrt, spread) + eps);
        if (with_momentum)
            buffer[i] = step = buffer[i] * momentum + step;
        parameter[i] -= lr * step;
    }
}

static void NAME(update_rmsprop)(const ht_update *u)
{
    if (u->centered && u->momentum != 0)
        NAME(update_rmsprop_walk)(u, true, true);
    else if (u->centered)
        NAME(update_rmsprop_walk)(u, true, false);
    else if (u->momentum != 0)
        NAME(update_rmsprop_walk)(u, false, true);
    else
        NAME(update_rmsprop_walk)(u, false, false);
}

#endif
