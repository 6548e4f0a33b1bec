/* SPDX-License-Identifier: MIT
 *
 * Template: cells of recurrent networks. A function works on one row of n units; the gates of a row
 * follow each other, n elements each. */

#if HT_IS_FLOAT

HT_INLINE C NAME(cell_sigmoid)(C x)
{
    return 1 / (1 + HT_MATH(exp, -x));
}

/* sigmoid'(x) and tanh'(x) by the function's value s. */
#define SIGMOID_SLOPE(s) ((s) * (1 - (s)))
#define TANH_SLOPE(s)    (1 - (s) * (s))

static void NAME(rnn_forward)(int64_t n, bool relu, const T *x, const T *h, T *y)
{
    if (relu) {
        HT_VECTORIZE
        for (int64_t j = 0; j < n; j++) {
            const C a = LOAD(x[j]) + LOAD(h[j]);

            y[j] = STORE(a <= 0 ? 0 : a);
        }
        return;
    }
    HT_VECTORIZE
    for (int64_t j = 0; j < n; j++)
        y[j] = STORE(HT_MATH(tanh, LOAD(x[j]) + LOAD(h[j])));
}

static void NAME(lstm_forward)(int64_t n, T *x, const T *h, const T *c, T *y, T *c_new)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < n; j++) {
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
}

static void NAME(gru_forward)(int64_t n, T *x, const T *h_gates, const T *h, T *y, T *kept)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < n; j++) {
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
}

/* In: dh is the gradient of y. Out: that of the previous state, without its way through gates. */
static void NAME(rnn_backward)(int64_t n, bool relu, const T *y, T *dh, T *dgates)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < n; j++) {
        const C value = LOAD(y[j]), g = LOAD(dh[j]);

        dgates[j] = STORE(relu ? (value <= 0 ? 0 : g) : g * TANH_SLOPE(value));
        dh[j] = STORE(0);
    }
}

static void NAME(lstm_backward)(int64_t n, const T *gates, const T *c, const T *c_new,
                                const T *dc_in, T *dh, T *dc, T *d)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < n; j++) {
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
}

static void NAME(gru_backward)(int64_t n, const T *gates, const T *h, const T *kept, T *dh,
                               T *dgates, T *dh_gates)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < n; j++) {
        const C r = LOAD(gates[j]), z = LOAD(gates[n + j]), update = LOAD(gates[2 * n + j]);
        const C g = LOAD(dh[j]), d = g * (1 - z) * TANH_SLOPE(update);

        dgates[j] = dh_gates[j] = STORE(d * LOAD(kept[j]) * SIGMOID_SLOPE(r));
        dgates[n + j] = dh_gates[n + j] = STORE(g * (LOAD(h[j]) - update) * SIGMOID_SLOPE(z));
        dgates[2 * n + j] = STORE(d);
        dh_gates[2 * n + j] = STORE(d * r);
        dh[j] = STORE(g * z);
    }
}

static int64_t NAME(cell_gates)(ht_cell cell)
{
    return cell == HT_CELL_LSTM ? 4 : cell == HT_CELL_GRU ? 3 : 1;
}

static bool NAME(cell_is_over)(const ht_cell_call *r, int64_t row)
{
    return r->lengths.data != NULL && ((const int64_t *)r->lengths.data)[row] <= r->step;
}

#define ROW(operand, width) ((T *)r->operand.data + row * (width))

static void NAME(cell_forward_row)(const ht_cell_call *r, int64_t row)
{
    const int64_t n = r->hidden, width = n * NAME(cell_gates)(r->cell);
    T *gates = ROW(gates, width);
    const T *h_gates = ROW(h_gates, width);

    switch (r->cell) {
    case HT_CELL_TANH:
    case HT_CELL_RELU:
        NAME(rnn_forward)(n, r->cell == HT_CELL_RELU, gates, h_gates, ROW(y, n));
        break;
    case HT_CELL_LSTM:
        NAME(lstm_forward)(n, gates, h_gates, ROW(c, n), ROW(y, n), ROW(c_new, n));
        break;
    case HT_CELL_GRU:
        NAME(gru_forward)(n, gates, h_gates, ROW(h, n), ROW(y, n), ROW(c_new, n));
        break;
    }
}

HT_KERNEL(cell_forward)
{
    const ht_cell_call *r = (const ht_cell_call *)call;
    const int64_t n = r->hidden;

    (void)stream;
    for (int64_t row = 0; row < r->rows; row++) {
        if (!NAME(cell_is_over)(r, row)) {
            NAME(cell_forward_row)(r, row);
            continue;
        }
        memcpy(ROW(y, n), ROW(h, n), (size_t)n * sizeof(T));
        if (r->cell == HT_CELL_LSTM)
            memcpy(ROW(c_new, n), ROW(c, n), (size_t)n * sizeof(T));
    }
    return 0;
}

static void NAME(cell_backward_row)(const ht_cell_call *r, int64_t row)
{
    const int64_t n = r->hidden, width = n * NAME(cell_gates)(r->cell);
    const T *gates = ROW(gates, width);
    T *dh = ROW(dh, n), *dgates = ROW(dgates, width);

    switch (r->cell) {
    case HT_CELL_TANH:
    case HT_CELL_RELU:
        NAME(rnn_backward)(n, r->cell == HT_CELL_RELU, ROW(y, n), dh, dgates);
        break;
    case HT_CELL_LSTM:
        NAME(lstm_backward)
        (n, gates, ROW(c, n), ROW(c_new, n), ROW(dc_in, n), dh, ROW(dc, n), dgates);
        break;
    case HT_CELL_GRU:
        NAME(gru_backward)(n, gates, ROW(h, n), ROW(c_new, n), dh, dgates, ROW(dh_gates, width));
        break;
    }
}

/* The row keeps its state: its gradients pass. */
static void NAME(cell_pass_row)(const ht_cell_call *r, int64_t row)
{
    const int64_t n = r->hidden, width = n * NAME(cell_gates)(r->cell);

    memset(ROW(dgates, width), 0, (size_t)width * sizeof(T));
    if (r->cell == HT_CELL_GRU)
        memset(ROW(dh_gates, width), 0, (size_t)width * sizeof(T));
    if (r->cell == HT_CELL_LSTM)
        memmove(ROW(dc, n), ROW(dc_in, n), (size_t)n * sizeof(T));
}

HT_KERNEL(cell_backward)
{
    const ht_cell_call *r = (const ht_cell_call *)call;
    const int64_t n = r->hidden;

    (void)stream;
    for (int64_t row = 0; row < r->rows; row++) {
        const T *dy = ROW(dy, n), *dh_in = r->dh_in.data != NULL ? ROW(dh_in, n) : NULL;
        T *dh = ROW(dh, n);

        HT_VECTORIZE
        for (int64_t j = 0; j < n; j++)
            dh[j] = STORE(LOAD(dy[j]) + (dh_in != NULL ? LOAD(dh_in[j]) : 0));
        if (NAME(cell_is_over)(r, row))
            NAME(cell_pass_row)(r, row);
        else
            NAME(cell_backward_row)(r, row);
    }
    return 0;
}

#undef ROW
#undef SIGMOID_SLOPE
#undef TANH_SLOPE
#endif
