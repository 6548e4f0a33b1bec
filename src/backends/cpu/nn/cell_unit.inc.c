/* SPDX-License-Identifier: MIT
 *
 * Template inside others: unit j of a row of a recurrent cell. The gates of a row follow each other,
 * n elements each. */

HT_INLINE C NAME(cell_sigmoid)(C x)
{
    return 1 / (1 + HT_MATH(exp, -x));
}

/* sigmoid'(x) and tanh'(x) by the function's value s. */
#define SIGMOID_SLOPE(s) ((s) * (1 - (s)))
#define TANH_SLOPE(s)    (1 - (s) * (s))

HT_INLINE void NAME(rnn_forward)(int64_t j, bool relu, const T *x, const T *h, T *y)
{
    const C a = LOAD(x[j]) + LOAD(h[j]);

    y[j] = STORE(!relu ? HT_MATH(tanh, a) : a <= 0 ? 0 : a);
}

HT_INLINE void NAME(lstm_forward)(int64_t n, int64_t j, T *x, const T *h, const T *c, T *y,
                                  T *c_new)
{
    const C in = NAME(cell_sigmoid)(LOAD(x[j]) + LOAD(h[j]));
    const C forget = NAME(cell_sigmoid)(LOAD(x[n + j]) + LOAD(h[n + j]));
    const C update = HT_MATH(tanh, LOAD(x[2 * n + j]) + LOAD(h[2 * n + j]));
    const C out = NAME(cell_sigmoid)(LOAD(x[3 * n + j]) + LOAD(h[3 * n + j]));
    const C cell = forget * LOAD(c[j]) + in * update;

    x[j] = STORE(in);
    x[n + j] = STORE(forget);
    x[2 * n + j] = STORE(update);
    x[3 * n + j] = STORE(out);
    c_new[j] = STORE(cell);
    y[j] = STORE(out * HT_MATH(tanh, cell));
}

HT_INLINE void NAME(gru_forward)(int64_t n, int64_t j, T *x, const T *h_gates, const T *h, T *y,
                                 T *kept)
{
    const C r = NAME(cell_sigmoid)(LOAD(x[j]) + LOAD(h_gates[j]));
    const C z = NAME(cell_sigmoid)(LOAD(x[n + j]) + LOAD(h_gates[n + j]));
    const C part = LOAD(h_gates[2 * n + j]);
    const C update = HT_MATH(tanh, LOAD(x[2 * n + j]) + r * part);

    x[j] = STORE(r);
    x[n + j] = STORE(z);
    x[2 * n + j] = STORE(update);
    kept[j] = STORE(part);
    y[j] = STORE((LOAD(h[j]) - update) * z + update);
}

/* In: dh is the gradient of y. Out: that of the previous state, without its way through gates. */
HT_INLINE void NAME(rnn_backward)(int64_t j, bool relu, const T *y, T *dh, T *dgates)
{
    const C value = LOAD(y[j]), g = LOAD(dh[j]);

    dgates[j] = STORE(relu ? (value <= 0 ? 0 : g) : g * TANH_SLOPE(value));
    dh[j] = STORE(0);
}

HT_INLINE void NAME(lstm_backward)(int64_t n, int64_t j, const T *gates, const T *c, const T *c_new,
                                   const T *dc_in, T *dh, T *dc, T *d)
{
    const C in = LOAD(gates[j]), forget = LOAD(gates[n + j]), update = LOAD(gates[2 * n + j]);
    const C out = LOAD(gates[3 * n + j]), g = LOAD(dh[j]);
    const C squashed = HT_MATH(tanh, LOAD(c_new[j]));
    const C dcell = LOAD(dc_in[j]) + g * out * TANH_SLOPE(squashed);

    d[j] = STORE(dcell * update * SIGMOID_SLOPE(in));
    d[n + j] = STORE(dcell * LOAD(c[j]) * SIGMOID_SLOPE(forget));
    d[2 * n + j] = STORE(dcell * in * TANH_SLOPE(update));
    d[3 * n + j] = STORE(g * squashed * SIGMOID_SLOPE(out));
    dc[j] = STORE(dcell * forget);
    dh[j] = STORE(0);
}

HT_INLINE void NAME(gru_backward)(int64_t n, int64_t j, const T *gates, const T *h, const T *kept,
                                  T *dh, T *dgates, T *dh_gates)
{
    const C r = LOAD(gates[j]), z = LOAD(gates[n + j]), update = LOAD(gates[2 * n + j]);
    const C g = LOAD(dh[j]), d = g * (1 - z) * TANH_SLOPE(update);

    dgates[j] = dh_gates[j] = STORE(d * LOAD(kept[j]) * SIGMOID_SLOPE(r));
    dgates[n + j] = dh_gates[n + j] = STORE(g * (LOAD(h[j]) - update) * SIGMOID_SLOPE(z));
    dgates[2 * n + j] = STORE(d);
    dh_gates[2 * n + j] = STORE(d * r);
    dh[j] = STORE(g * z);
}

HT_INLINE int64_t NAME(cell_gates)(ht_cell cell)
{
    return cell == HT_CELL_LSTM ? 4 : cell == HT_CELL_GRU ? 3 : 1;
}

HT_INLINE bool NAME(cell_is_over)(const ht_cell_call *r, int64_t row)
{
    return r->lengths.data != NULL && ((const int64_t *)r->lengths.data)[row] <= r->step;
}

#undef SIGMOID_SLOPE
#undef TANH_SLOPE
