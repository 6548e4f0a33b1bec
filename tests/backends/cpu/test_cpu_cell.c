/* ranks 1 own device */
/* Recurrent cells against their formulas in double, with gradients by finite differences, and with
 * the same bits at every level. */
#include "cpu_kernels.h"

#include "ht/kernels/nn.h"

enum { ROWS = 3, WIDEST = 67, GATES = 4, STATE = ROWS * WIDEST, MAX = STATE * GATES };
enum { X, H_GATES, H, C, DY, DH_IN, DC_IN, INPUTS };
enum { Y, C_NEW, SAVED, DGATES, DH_GATES, DH, DC, RESULTS };

static cpu_level levels[3];
static int level_count;
static char in[INPUTS][MAX * 8], out[RESULTS][MAX * 8], first[RESULTS][MAX * 8];
static int64_t lengths[ROWS] = {2, 1, 5};

static int gates_of(ht_cell cell)
{
    return cell == HT_CELL_LSTM ? 4 : cell == HT_CELL_GRU ? 3 : 1;
}

/* Odd multiples of 1/32 in X and even ones elsewhere, so that no sum is 0, where relu has no slope. */
static void fill(ht_dtype dtype)
{
    uint64_t seed = 7;

    for (int list = 0; list < INPUTS; list++)
        for (int64_t i = 0; i < MAX; i++)
            cpu_set(dtype, in[list], i,
                    (2 * floor(32 * cpu_random(&seed)) - 32 + (list == X)) / 32);
}

static void run(int level, ht_dtype dtype, ht_cell_call call)
{
    const ht_kernel_table *table = &levels[level].kernels;
    const size_t bytes = (size_t)(call.rows * call.hidden * gates_of(call.cell)) *
                         ht_dtype_size(dtype);
    ht_cell_call backward;

    memset(out, 0x55, sizeof out);
    memcpy(out[SAVED], in[X], bytes);
    call.gates.data = out[SAVED];
    call.h_gates.data = in[H_GATES];
    call.h.data = in[H];
    call.c.data = in[C];
    call.y.data = out[Y];
    call.c_new.data = out[C_NEW];
    backward = call;
    backward.dy.data = in[DY];
    backward.dc_in.data = in[DC_IN];
    backward.dgates.data = out[DGATES];
    backward.dh_gates.data = out[DH_GATES];
    backward.dh.data = out[DH];
    backward.dc.data = out[DC];
    assert_int_equal(cpu_run(table, HT_KERNEL_CELL_FORWARD, dtype, &call), 0);
    assert_int_equal(cpu_run(table, HT_KERNEL_CELL_BACKWARD, dtype, &backward), 0);
}

/* The operands of one unit: its gates, those of h, h and c. */
struct unit {
    double x[GATES], g[GATES], h, c;
};

static struct unit unit_of(ht_dtype dtype, const ht_cell_call *r, int64_t row, int64_t j)
{
    const int gates = gates_of(r->cell);
    const int64_t at = row * r->hidden + j;
    struct unit u = {.h = cpu_get(dtype, in[H], at), .c = cpu_get(dtype, in[C], at)};

    for (int k = 0; k < gates; k++) {
        const int64_t gate = (row * gates + k) * r->hidden + j;

        u.x[k] = cpu_get(dtype, in[X], gate);
        u.g[k] = cpu_get(dtype, in[H_GATES], gate);
    }
    return u;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* The next h; c becomes the next c. */
static double next(ht_cell cell, const struct unit *u, double *c)
{
    const double i = sigmoid(u->x[0] + u->g[0]), f = sigmoid(u->x[1] + u->g[1]);

    *c = 0;
    if (cell == HT_CELL_TANH)
        return tanh(u->x[0] + u->g[0]);
    if (cell == HT_CELL_RELU)
        return fmax(u->x[0] + u->g[0], 0);
    if (cell == HT_CELL_GRU)
        return (1 - f) * tanh(u->x[2] + i * u->g[2]) + f * u->h;
    *c = f * u->c + i * tanh(u->x[2] + u->g[2]);
    return sigmoid(u->x[3] + u->g[3]) * tanh(*c);
}

static void assert_near(ht_dtype dtype, double got, double expected)
{
    const double bound = dtype == HT_FLOAT64 ? 1e-8 : 32 * cpu_eps(dtype);

    if (!(fabs(got - expected) <= bound * (1 + fabs(expected))))
        fail_msg("%s: %.17g is not %.17g", ht_dtype_name(dtype), got, expected);
}

/* The slope of dy h + dc_in c in one operand of the unit. */
static double slope(ht_cell cell, struct unit *u, double *operand, double dy, double dc_in)
{
    const double step = 1e-6, at = *operand;
    double sum = 0;

    for (int sign = -1; sign <= 1; sign += 2) {
        double c, h;

        *operand = at + sign * step;
        h = next(cell, u, &c);
        sum += sign * (dy * h + dc_in * c);
    }
    *operand = at;
    return sum / (2 * step);
}

static void check_unit(ht_dtype dtype, const ht_cell_call *r, int64_t row, int64_t j)
{
    const int gates = gates_of(r->cell);
    const int64_t at = row * r->hidden + j;
    const double dh_in = r->dh_in.data != NULL ? cpu_get(dtype, in[DH_IN], at) : 0;
    const double dy = cpu_get(dtype, in[DY], at) + dh_in, dc_in = cpu_get(dtype, in[DC_IN], at);
    struct unit u = unit_of(dtype, r, row, j);
    double c, h = next(r->cell, &u, &c);

    assert_near(dtype, cpu_get(dtype, out[Y], at), h);
    for (int k = 0; k < gates; k++) {
        const int64_t gate = (row * gates + k) * r->hidden + j;

        assert_near(dtype, cpu_get(dtype, out[DGATES], gate),
                    slope(r->cell, &u, &u.x[k], dy, dc_in));
        if (r->cell == HT_CELL_GRU)
            assert_near(dtype, cpu_get(dtype, out[DH_GATES], gate),
                        slope(r->cell, &u, &u.g[k], dy, dc_in));
    }
    assert_near(dtype, cpu_get(dtype, out[DH], at), slope(r->cell, &u, &u.h, dy, dc_in));
    if (r->cell == HT_CELL_LSTM) {
        assert_near(dtype, cpu_get(dtype, out[C_NEW], at), c);
        assert_near(dtype, cpu_get(dtype, out[DC], at), slope(r->cell, &u, &u.c, dy, dc_in));
    }
}

/* A row that is over keeps its state, and its gradients pass. */
static void check_passed(ht_dtype dtype, const ht_cell_call *r, int64_t row)
{
    const int64_t n = r->hidden, width = n * gates_of(r->cell);

    for (int64_t i = row * n; i < (row + 1) * n; i++) {
        const double dh_in = r->dh_in.data != NULL ? cpu_get(dtype, in[DH_IN], i) : 0;

        assert_true(cpu_same(dtype, out[Y], i, in[H], i));
        assert_near(dtype, cpu_get(dtype, out[DH], i), cpu_get(dtype, in[DY], i) + dh_in);
        if (r->cell == HT_CELL_LSTM) {
            assert_true(cpu_same(dtype, out[C_NEW], i, in[C], i));
            assert_true(cpu_same(dtype, out[DC], i, in[DC_IN], i));
        }
    }
    for (int64_t i = row * width; i < (row + 1) * width; i++) {
        assert_true(cpu_get(dtype, out[DGATES], i) == 0);
        assert_true(r->cell != HT_CELL_GRU || cpu_get(dtype, out[DH_GATES], i) == 0);
    }
}

static void check(ht_dtype dtype, const ht_cell_call *r)
{
    for (int level = 0; level < level_count; level++) {
        run(level, dtype, *r);
        if (level == 0)
            memcpy(first, out, sizeof first);
        assert_memory_equal(first, out, sizeof first);
    }
    for (int64_t row = 0; row < r->rows; row++) {
        if (r->lengths.data != NULL && lengths[row] <= r->step) {
            check_passed(dtype, r, row);
            continue;
        }
        for (int64_t j = 0; j < r->hidden; j++)
            check_unit(dtype, r, row, j);
    }
}

static void cells_of_every_width(void **state)
{
    static const int64_t widths[] = {1, 2, 7, 16, 33, WIDEST};

    (void)state;
    for (int dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++) {
        fill((ht_dtype)dtype);
        for (int cell = HT_CELL_TANH; cell <= HT_CELL_GRU; cell++)
            for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
                for (int option = 0; option < 4; option++) {
                    ht_cell_call r = {
                        .cell = (ht_cell)cell, .rows = ROWS, .hidden = widths[i], .step = 1};

                    r.lengths.data = option & 1 ? lengths : NULL;
                    r.dh_in.data = option & 2 ? in[DH_IN] : NULL;
                    check((ht_dtype)dtype, &r);
                }
    }
}

static void no_rows_and_no_units_write_nothing(void **state)
{
    char untouched[RESULTS][MAX * 8];

    (void)state;
    memset(untouched, 0x55, sizeof untouched);
    for (int level = 0; level < level_count; level++)
        for (int cell = HT_CELL_TANH; cell <= HT_CELL_GRU; cell++) {
            run(level, HT_FLOAT32, (ht_cell_call){.cell = (ht_cell)cell, .rows = 0, .hidden = 5});
            assert_memory_equal(out, untouched, sizeof untouched);
            run(level, HT_FLOAT32, (ht_cell_call){.cell = (ht_cell)cell, .rows = 3, .hidden = 0});
            assert_memory_equal(out, untouched, sizeof untouched);
        }
}

static int setup(void **state)
{
    (void)state;
    if (level_count == 0)
        level_count = cpu_levels(levels);
    return 0;
}

HT_TEST_SUITE(test_cpu_cell, cmocka_unit_test_setup(cells_of_every_width, setup),
              cmocka_unit_test_setup(no_rows_and_no_units_write_nothing, setup));
