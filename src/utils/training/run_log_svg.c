/* SPDX-License-Identifier: MIT
 *
 * The curves of a run as SVG: a panel for each last word of the columns' names, one above the
 * other, with one axis of epochs. */
#include <math.h>
#include <string.h>

#include "run_log.h"

enum { WIDTH = 720, HEIGHT = 200, LEFT = 70, RIGHT = 150, TOP = 24, BOTTOM = 30 };

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

/* Widens low ... high by the finite values of a column. */
static void widen(const ht_run_log *log, int column, double *low, double *high)
{
    for (int row = 0; row < log->rows; row++) {
        double x = value(log, row, column);

        if (!isfinite(x))
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

static void put_text(FILE *file, int x, int y, const char *anchor, const char *text)
{
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">", x, y, anchor);
    for (; *text != '\0'; text++) {
        if (*text == '<' || *text == '&')
            fputs(*text == '<' ? "&lt;" : "&amp;", file);
        else
            fputc(*text, file);
    }
    fputs("</text>\n", file);
}

static void put_number(FILE *file, int x, int y, const char *anchor, double number)
{
    char text[32];

    snprintf(text, sizeof text, "%.4g", number);
    put_text(file, x, y, anchor, text);
}

/* What a panel shows: its place on the page and its ranges. */
struct panel {
    int top;
    double low[2], high[2]; /* x, y */
};

/* A gap where a row has no value; a circle keeps a value without neighbours visible. */
static void put_curve(const ht_run_log *log, const struct panel *panel, int column,
                      const char *colour, FILE *file)
{
    bool drawing = false;

    fprintf(file, "<g fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\">\n<path d=\"", colour);
    for (int pass = 0; pass < 2; pass++) {
        for (int row = 0; row < log->rows; row++) {
            double x = value(log, row, 0), y = value(log, row, column);
            bool there = isfinite(x) && isfinite(y);

            x = LEFT +
                (x - panel->low[0]) / (panel->high[0] - panel->low[0]) * (WIDTH - LEFT - RIGHT);
            y = panel->top + HEIGHT - BOTTOM -
                (y - panel->low[1]) / (panel->high[1] - panel->low[1]) * (HEIGHT - TOP - BOTTOM);
            if (there && pass == 0)
                fprintf(file, "%c%.1f %.1f", drawing ? 'L' : 'M', x, y);
            if (there && pass == 1)
                fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>\n", x, y);
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

    fprintf(file,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n",
            LEFT, panel->top + TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    put_number(file, LEFT - 6, base, "end", panel->low[1]);
    put_number(file, LEFT - 6, panel->top + TOP + 8, "end", panel->high[1]);
    put_number(file, LEFT, base + 16, "start", panel->low[0]);
    put_number(file, WIDTH - RIGHT, base + 16, "end", panel->high[0]);
    put_text(file, (LEFT + WIDTH - RIGHT) / 2, base + 16, "middle", log->names[0]);
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
    put_frame(log, panel, file);
    for (int column = first; column < log->columns; column++) {
        const char *colour = colours[curves % COLOURS];

        if (panel_of(log, column) != first)
            continue;
        put_curve(log, panel, column, colour, file);
        fprintf(file, "<g fill=\"%s\">", colour);
        put_text(file, WIDTH - RIGHT + 8, panel->top + TOP + 12 + 16 * curves++, "start",
                 log->names[column]);
        fputs("</g>\n", file);
    }
}

int ht__run_log_draw(const ht_run_log *log, FILE *file)
{
    struct panel panel = {.low = {INFINITY}, .high = {-INFINITY}};
    int panels = 0;

    for (int column = 1; column < log->columns; column++)
        panels += panel_of(log, column) == column;
    widen(log, 0, &panel.low[0], &panel.high[0]);
    settle(&panel.low[0], &panel.high[0]);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, panels * HEIGHT + 10);
    for (int column = 1; column < log->columns; column++) {
        if (panel_of(log, column) != column)
            continue;
        put_panel(log, &panel, column, file);
        panel.top += HEIGHT;
    }
    fputs("</svg>\n", file);
    return ferror(file) ? -1 : 0;
}
