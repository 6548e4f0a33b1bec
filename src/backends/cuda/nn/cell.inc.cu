/* SPDX-License-Identifier: MIT
 *
 * Template: recurrent cells of a dtype. */
#include "backends/cpu/nn/cell_unit.inc.c"

/* The row of an operand, or NULL. */
#define ROW(operand, width) \
    (r.operand.data != NULL ? static_cast<T *>(r.operand.data) + row * (width) : (T *)NULL)

static __global__ void NAME(cell_forward)(int64_t work, ht_cuda_length hidden, ht_cell_call r)
{
    const int64_t n = r.hidden, width = n * NAME(cell_gates)(r.cell);

    HT_CUDA_EACH(i, work)
    {
        int64_t j;
        const int64_t row = ht_cuda_divide(i, hidden, &j);
        T *gates = ROW(gates, width), *h_gates = ROW(h_gates, width), *y = ROW(y, n);

        if (NAME(cell_is_over)(&r, row)) {
            y[j] = ROW(h, n)[j];
            if (r.cell == HT_CELL_LSTM)
                ROW(c_new, n)[j] = ROW(c, n)[j];
        } else if (r.cell == HT_CELL_LSTM) {
            NAME(lstm_forward)(n, j, gates, h_gates, ROW(c, n), y, ROW(c_new, n));
        } else if (r.cell == HT_CELL_GRU) {
            NAME(gru_forward)(n, j, gates, h_gates, ROW(h, n), y, ROW(c_new, n));
        } else {
            NAME(rnn_forward)(j, r.cell == HT_CELL_RELU, gates, h_gates, y);
        }
    }
}

static __global__ void NAME(cell_backward)(int64_t work, ht_cuda_length hidden, ht_cell_call r)
{
    const int64_t n = r.hidden, gates = NAME(cell_gates)(r.cell), width = n * gates;

    HT_CUDA_EACH(i, work)
    {
        int64_t j;
        const int64_t row = ht_cuda_divide(i, hidden, &j);
        T *dh = ROW(dh, n), *dgates = ROW(dgates, width), *dh_gates = ROW(dh_gates, width);

        dh[j] = STORE(LOAD(ROW(dy, n)[j]) + (r.dh_in.data != NULL ? LOAD(ROW(dh_in, n)[j]) : (C)0));
        if (NAME(cell_is_over)(&r, row)) {
            for (int64_t gate = 0; gate < gates; gate++) {
                dgates[gate * n + j] = STORE(0);
                if (r.cell == HT_CELL_GRU)
                    dh_gates[gate * n + j] = STORE(0);
            }
            if (r.cell == HT_CELL_LSTM)
                ROW(dc, n)[j] = ROW(dc_in, n)[j];
        } else if (r.cell == HT_CELL_LSTM) {
            NAME(lstm_backward)
            (n, j, ROW(gates, width), ROW(c, n), ROW(c_new, n), ROW(dc_in, n), dh, ROW(dc, n),
             dgates);
        } else if (r.cell == HT_CELL_GRU) {
            NAME(gru_backward)
            (n, j, ROW(gates, width), ROW(h, n), ROW(c_new, n), dh, dgates, dh_gates);
        } else {
            NAME(rnn_backward)(j, r.cell == HT_CELL_RELU, ROW(y, n), dh, dgates);
        }
    }
}

template <bool forward> static int NAME(run_cell)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_cell_call *r = (const ht_cell_call *)call;
    const int64_t work = r->rows * r->hidden;

    if (work == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    const ht_cuda_length hidden = ht_cuda_length_of(r->hidden, work);

    if (forward)
        HT_CUDA_LAUNCH_EACH(device, NAME(cell_forward), work, hidden, *r);
    else
        HT_CUDA_LAUNCH_EACH(device, NAME(cell_backward), work, hidden, *r);
    return ht_cuda_end(device, call);
}

static void NAME(add_cell)(ht_backend *backend)
{
    ht_cuda_add(backend, "CELL_FORWARD", ID, NAME(run_cell) < true >);
    ht_cuda_add(backend, "CELL_BACKWARD", ID, NAME(run_cell) < false >);
}

#undef ROW
