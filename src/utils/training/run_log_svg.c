/* SPDX-License-Identifier: MIT
 *
 * The curves of a run as SVG: a panel for each last word of the columns' names, one above the
 * other, with one axis of epochs. */
#include <math.h>
#include <string.h>

#include "utils/training/run_log.h"

enum { WIDTH = 720, HEIGHT = 230, LEFT = 70, RIGHT = 150, TOP = 24, BOTTOM = 40 };
enum { MARKED = 60 }; /* rows up to which each value has a circle */

static const char *const colours[] = {"#1f77b4", "#d62728", "#2ca02c",
                                      "#9467bd", "#ff7f0e", "#17becf"};
enum { COLOURS = sizeof colours / sizeof *colours };

static const char *last_word(const char *name)
{
    const char *mark = strrchr(name, '_');

    return mark != NULL ? mark + 1 : name;
}

/* The first column that shares this one's panel; column 0 is the axis. */
static int panel_of(const ht_run_log *log, int column)
{
    int first = 1;

    while (strcmp(last_word(log->names[first]), last_word(log->names[column])) != 0)
        first++;
    return first;
}

static double value(const ht_run_log *log, int row, int column)
{
    return log->values[(size_t)row * (size_t)log->columns + (size_t)column];
}

/* Widens low ... high by the values of a column, but not without end. */
static void widen(const ht_run_log *log, int column, double *low, double *high)
{
    for (int row = 0; row < log->rows; row++) {
        double x = value(log, row, column);

        if (!isfinite(x) || fabs(x) > 1e300)
            continue;
        *low = fmin(*low, x);
        *high = fmax(*high, x);
    }
}

/* One value takes the middle; none at all, any range. */
static void settle(double *low, double *high)
{
    double half;

    if (*low > *high)
        *low = *high = 0;
    if (*low < *high)
        return;
    half = fmax(fabs(*low) * 0.05, 1e-12);
    *low -= half;
    *high += half;
}

/* 1, 2 or 5 times a power of ten, so that low ... high has about `parts` of them. */
static double tick_step(double low, double high, int parts)
{
    double least = (high - low) / parts, power = pow(10, floor(log10(least)));

    if (least <= power)
        return power;
    return least <= 2 * power ? 2 * power : least <= 5 * power ? 5 * power : 10 * power;
}

static void put_text(FILE *file, double x, double y, const char *anchor, const char *text)
{
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (; *text != '\0'; text++) {
        if (*text == '<' || *text == '&')
            fputs(*text == '<' ? "&lt;" : "&amp;", file);
        else
            fputc(*text == '_' ? ' ' : *text, file);
    }
    fputs("</text>\n", file);
}

/* The contents of a panel: its place on the page, and its ranges and ticks. */
struct panel {
    int top;
    double low[2], high[2], step[2]; /* x, y */
};

static double across(const struct panel *panel, double x)
{
    return LEFT + (x - panel->low[0]) / (panel->high[0] - panel->low[0]) * (WIDTH - LEFT - RIGHT);
}

static double down(const struct panel *panel, double y)
{
    return panel->top + HEIGHT - BOTTOM -
           (y - panel->low[1]) / (panel->high[1] - panel->low[1]) * (HEIGHT - TOP - BOTTOM);
}

/* A line across the panel, or down, and its number. */
static void put_tick(const struct panel *panel, int axis, double at, FILE *file)
{
    double x = axis == 0 ? across(panel, at) : LEFT, y = axis == 1 ? down(panel, at) : 0;
    int base = panel->top + HEIGHT - BOTTOM;
    char text[32];

    if (fabs(at) < panel->step[axis] * 1e-9)
        at = 0; /* not 1e-17 */
    snprintf(text, sizeof text, "%.6g", at);
    if (axis == 0) {
        fprintf(file, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", x, panel->top + TOP, base);
        put_text(file, x, base + 16, "middle", text);
    } else {
        fprintf(file, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, y, WIDTH - RIGHT);
        put_text(file, LEFT - 6, y + 4, "end", text);
    }
}

static void put_ticks(const struct panel *panel, int axis, FILE *file)
{
    double step = panel->step[axis];
    double first = ceil(panel->low[axis] / step - 1e-9);
    int count = (int)(floor(panel->high[axis] / step + 1e-9) - first);

    for (int i = 0; i <= count; i++)
        put_tick(panel, axis, (first + i) * step, file);
}

/* A gap where a row has no value. A circle for each keeps those without neighbours visible. */
static void put_curve(const ht_run_log *log, const struct panel *panel, int column,
                      const char *colour, FILE *file)
{
    bool drawing = false, marked = log->rows <= MARKED;

    fprintf(file,
            "<g fill=\"%s\"><path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" "
            "stroke-linejoin=\"round\" d=\"",
            colour, colour);
    for (int pass = 0; pass < (marked ? 2 : 1); pass++) {
        for (int row = 0; row < log->rows; row++) {
            double x = value(log, row, 0), y = value(log, row, column);
            bool there = isfinite(x) && isfinite(y);

            if (there && pass == 0)
                fprintf(file, "%c%.1f %.1f", drawing ? 'L' : 'M', across(panel, x), down(panel, y));
            if (there && pass == 1)
                fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n", across(panel, x),
                        down(panel, y));
            drawing = there;
        }
        if (pass == 0)
            fputs("\"/>\n", file);
    }
    fputs("</g>\n", file);
}

static void put_frame(const ht_run_log *log, const struct panel *panel, FILE *file)
{
    int base = panel->top + HEIGHT - BOTTOM;

    fputs("<g fill=\"#444\">\n", file);
    put_ticks(panel, 0, file);
    put_ticks(panel, 1, file);
    put_text(file, (LEFT + WIDTH - RIGHT) / 2, base + 34, "middle", log->names[0]);
    fputs("</g>\n", file);
    fprintf(file,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n",
            LEFT, panel->top + TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
}

static void put_panel(const ht_run_log *log, struct panel *panel, int first, FILE *file)
{
    int curves = 0;

    panel->low[1] = INFINITY;
    panel->high[1] = -INFINITY;
    for (int column = first; column < log->columns; column++) {
        if (panel_of(log, column) == first)
            widen(log, column, &panel->low[1], &panel->high[1]);
    }
    settle(&panel->low[1], &panel->high[1]);
    panel->step[1] = tick_step(panel->low[1], panel->high[1], 5);
    panel->low[1] = floor(panel->low[1] / panel->step[1] + 1e-9) * panel->step[1];
    panel->high[1] = ceil(panel->high[1] / panel->step[1] - 1e-9) * panel->step[1];
    put_frame(log, panel, file);
    for (int column = first; column < log->columns; column++) {
        const char *colour = colours[curves % COLOURS];

        if (panel_of(log, column) != first)
            continue;
        put_curve(log, panel, column, colour, file);
        fprintf(file, "<g fill=\"%s\" font-size=\"14\">", colour);
        put_text(file, WIDTH - RIGHT + 10, panel->top + TOP + 14 + 20 * curves++, "start",
                 log->names[column]);
        fputs("</g>\n", file);
    }
}

/* There is no half of an epoch: column 0 has whole numbers alone, more than one. */
static bool counts(const ht_run_log *log)
{
    for (int row = 0; row < log->rows; row++) {
        if (value(log, row, 0) != floor(value(log, row, 0)))
            return false;
    }
    return log->rows > 1;
}

int ht__run_log_draw(const ht_run_log *log, FILE *file)
{
    struct panel panel = {.low = {INFINITY}, .high = {-INFINITY}};
    int panels = 0;

    for (int column = 1; column < log->columns; column++)
        panels += panel_of(log, column) == column;
    widen(log, 0, &panel.low[0], &panel.high[0]);
    settle(&panel.low[0], &panel.high[0]);
    panel.step[0] = tick_step(panel.low[0], panel.high[0], 8);
    if (panel.step[0] < 1 && counts(log))
        panel.step[0] = 1;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>.grid { stroke: #e4e4e4 }</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, panels * HEIGHT + 10, WIDTH, panels * HEIGHT + 10);
    for (int column = 1; column < log->columns; column++) {
        if (panel_of(log, column) != column)
            continue;
        put_panel(log, &panel, column, file);
        panel.top += HEIGHT;
    }
    fputs("</svg>\n", file);
    return ferror(file) ? -1 : 0;
}
