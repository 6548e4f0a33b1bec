/* SPDX-License-Identifier: MIT
 *
 * Template: cells of recurrent networks, row by row. */

#if HT_IS_FLOAT

#include "backends/cpu/nn/cell_unit.inc.c"

#define ROW(operand, width)        ((T *)r->operand.data + row * (width))
#define ROW_IF_ANY(operand, width) (r->operand.data != NULL ? ROW(operand, width) : NULL)
#define EACH_UNIT \
    HT_VECTORIZE  \
    for (int64_t j = 0; j < n; j++)

static void NAME(cell_forward_row)(const ht_cell_call *r, int64_t row)
{
    const int64_t n = r->hidden, width = n * NAME(cell_gates)(r->cell);
    T *gates = ROW(gates, width), *y = ROW(y, n), *c_new = ROW_IF_ANY(c_new, n);
    const T *h_gates = ROW(h_gates, width), *h = ROW_IF_ANY(h, n), *c = ROW_IF_ANY(c, n);

    switch (r->cell) {
    case HT_CELL_TANH:
        EACH_UNIT
        NAME(rnn_forward)(j, false, gates, h_gates, y);
        break;
    case HT_CELL_RELU:
        EACH_UNIT
        NAME(rnn_forward)(j, true, gates, h_gates, y);
        break;
    case HT_CELL_LSTM:
        EACH_UNIT
        NAME(lstm_forward)(n, j, gates, h_gates, c, y, c_new);
        break;
    case HT_CELL_GRU:
        EACH_UNIT
        NAME(gru_forward)(n, j, gates, h_gates, h, y, c_new);
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
    const T *gates = ROW(gates, width), *y = ROW_IF_ANY(y, n), *h = ROW_IF_ANY(h, n),
            *c = ROW_IF_ANY(c, n);
    const T *c_new = ROW_IF_ANY(c_new, n), *dc_in = ROW_IF_ANY(dc_in, n);
    T *dh = ROW(dh, n), *dc = ROW_IF_ANY(dc, n), *dgates = ROW(dgates, width);
    T *dh_gates = ROW_IF_ANY(dh_gates, width);

    switch (r->cell) {
    case HT_CELL_TANH:
    case HT_CELL_RELU:
        EACH_UNIT
        NAME(rnn_backward)(j, r->cell == HT_CELL_RELU, y, dh, dgates);
        break;
    case HT_CELL_LSTM:
        EACH_UNIT
        NAME(lstm_backward)(n, j, gates, c, c_new, dc_in, dh, dc, dgates);
        break;
    case HT_CELL_GRU:
        EACH_UNIT
        NAME(gru_backward)(n, j, gates, h, c_new, dh, dgates, dh_gates);
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
        const T *dy = ROW(dy, n), *dh_in = ROW_IF_ANY(dh_in, n);
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
#undef ROW_IF_ANY
#undef EACH_UNIT
#endif
