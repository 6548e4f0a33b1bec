/* SPDX-License-Identifier: MIT
 *
 * Passes that cannot be completed, because parameters have no gradient, or a rank's loss or
 * backward pass has failed. The flags in the buckets become an error with names, the same on all
 * ranks.
 *
 * Each rank sends a report when the sums of the pass have arrived and ask for it. It does so in any
 * wait: for an average, or for a message that another rank sends only after it has the reports of
 * all. Reports of one communicator are sent in the order of the passes. */
#include "nn/parallel/data/reducer/comm_hook.h"

#include <stdio.h>
#include <string.h>

static ht_reducer *sent; /* whose sums have all been started, and are yet to be looked at */

/* "fc1.weight, fc1.bias and 3 more" of the parameters in `row`. */
static void list_names(const ht_reducer *reducer, const float row[], char *text, size_t room)
{
    size_t used = 0;
    int listed = 0, more = 0;

    for (int i = 0; i < reducer->count; i++) {
        const char *name = reducer->params[i].name;

        if (row[i] == 0)
            continue;
        if (used + strlen(name) + 16 >= room) {
            more++;
            continue;
        }
        used += (size_t)snprintf(text + used, room - used, "%s%s", listed > 0 ? ", " : "", name);
        listed++;
    }
    if (more > 0)
        snprintf(text + used, room - used, " and %d more", more);
}

/* A report: for each rank a row that says which parameters it misses, how its pass failed (an
 * ht_breakage), the error's code, and its text. */
enum { WHY = 400, MORE = 2 + WHY };

static size_t row_length(const ht_reducer *reducer)
{
    return (size_t)reducer->count + MORE;
}

static const float *row_of(const ht_reducer *reducer, int rank)
{
    return reducer->report + (size_t)rank * row_length(reducer);
}

static ht_breakage failed_as(const ht_reducer *reducer, int rank)
{
    return (ht_breakage)row_of(reducer, rank)[reducer->count];
}

static void write_why(const ht_reducer *reducer, const float *row, char *text, size_t room)
{
    size_t i = 0;

    for (row += reducer->count + 2; i + 1 < room && i < WHY && row[i] != 0; i++)
        text[i] = (char)row[i];
    text[i] = '\0';
}

/* A clause for the ranks first ... last, whose reports are equal. */
static size_t describe_rows(const ht_reducer *reducer, int first, int last, char *text, size_t room)
{
    static const char *const heads[] = {"no gradient for ", "backward failed before it came to ",
                                        "no loss", "gradients cannot be used"};
    ht_breakage how = failed_as(reducer, first);
    bool whole = how == HT_BROKEN_NO_LOSS || how == HT_BROKEN_SPOILT;
    char names[400] = "", why[WHY + 3] = "", ranks[32];

    if (!whole)
        list_names(reducer, row_of(reducer, first), names, sizeof names);
    if (!whole && names[0] == '\0')
        return 0;
    if (whole)
        write_why(reducer, row_of(reducer, first), why, sizeof why);
    snprintf(ranks, sizeof ranks, last > first ? "s %d-%d" : " %d", first, last);
    return (size_t)snprintf(text, room, "%s%s on rank%s%s%s", heads[how], names, ranks,
                            why[0] != '\0' ? ": " : "", why);
}

static void describe(const ht_reducer *reducer, char *text, size_t room)
{
    size_t bytes = row_length(reducer) * sizeof(float), used = 0;
    int size = reducer->comm->size, next;

    for (int r = 0; r < size && used + 64 < room; r = next) {
        size_t comma = used > 0 ? 2 : 0, more;

        for (next = r + 1; next < size; next++) {
            if (memcmp(row_of(reducer, r), row_of(reducer, next), bytes) != 0)
                break;
        }
        more = describe_rows(reducer, r, next - 1, text + used + comma, room - used - comma);
        if (more > 0 && comma > 0)
            memcpy(text + used, "; ", 2);
        used += more > 0 ? more + comma : 0;
    }
}

/* All rows; each rank fills its own, and the sum is all of them. */
static void start_report(ht_reducer *reducer)
{
    size_t length = row_length(reducer), count = (size_t)reducer->count;
    int64_t n = (int64_t)length * reducer->comm->size;
    float *mine;

    reducer->report = ht__alloc((size_t)n * sizeof *reducer->report);
    mine = reducer->report + (size_t)reducer->comm->rank * length;
    for (size_t i = 0; i < count; i++)
        mine[i] = reducer->params[i].presence == HT_GRAD_MISSING;
    if (reducer->broken != HT_BROKEN_NOT) {
        mine[count] = (float)reducer->broken;
        mine[count + 1] = (float)reducer->cause;
        for (size_t i = 0; i < WHY && reducer->why[i] != '\0'; i++)
            mine[count + 2 + i] = reducer->why[i];
    }
    reducer->reporting = ht__exchange_start(reducer->reports, reducer->report, n, HT_FLOAT32, 1, 0);
}

void ht__reducer_unsent(ht_reducer *reducer)
{
    ht_reducer **at = &sent;

    while (*at != NULL && *at != reducer)
        at = &(*at)->next_sent;
    if (*at != NULL)
        *at = reducer->next_sent;
}

void ht__reducer_sent(ht_reducer *reducer)
{
    ht_reducer **end = &sent;

    while (*end != NULL)
        end = &(*end)->next_sent;
    *end = reducer;
    reducer->next_sent = NULL;
}

double ht__bucket_flag(const ht_bucket *bucket, int flag)
{
    if (bucket->dtype == HT_FLOAT64)
        return ((double *)(void *)bucket->flags)[flag];
    return ((float *)(void *)bucket->flags)[flag];
}

bool ht__bucket_misses(const ht_bucket *bucket, int flag)
{
    double sum = ht__bucket_flag(bucket, flag);

    return sum > 0 && sum >= HT_FLAG_MISSING / 2 * bucket->reducer->scale;
}

/* Averages that were waited for have been examined. */
static bool is_under_way(const ht_bucket *bucket)
{
    if (bucket->state != HT_BUCKET_IN_FLIGHT)
        return false;
    return bucket->reducer->hook != NULL ? bucket->hooked->in_flight
                                         : !ht__exchange_done(bucket->op);
}

static bool has_come(const ht_reducer *reducer)
{
    for (int i = 0; i < reducer->bucket_count; i++) {
        if (is_under_way(&reducer->buckets[i]))
            return false;
    }
    return ht__reducer_has_order(reducer);
}

/* The verdict describes all parameters, and a rank that misses none but has no valid data. A rank
 * that has the last bucket has examined that. */
static bool misses_some(const ht_reducer *reducer)
{
    const ht_bucket *last = &reducer->buckets[reducer->bucket_count - 1];

    return reducer->pass == HT_PASS_MISSING ||
           (last->state == HT_BUCKET_IN_FLIGHT && ht__bucket_misses(last, last->count));
}

static bool is_first(const ht_reducer *reducer)
{
    const ht_reducer *first = sent;

    while (first->exchange != reducer->exchange)
        first = first->next_sent;
    return first == reducer;
}

/* Mostly there is nothing to look at, or the sums are not there. */
bool ht__reducers_look(void)
{
    bool started = false;

    for (ht_reducer *reducer = sent, *next; reducer != NULL; reducer = next) {
        next = reducer->next_sent;
        if (!is_first(reducer) || !has_come(reducer))
            continue;
        if (misses_some(reducer)) {
            start_report(reducer);
            started = true;
        }
        ht__reducer_unsent(reducer);
    }
    return started;
}

void ht__reducer_end_report(ht_reducer *reducer)
{
    if (reducer->reporting != NULL)
        ht__exchange_release(reducer->reports, reducer->reporting);
    ht__free(reducer->report);
    reducer->reporting = NULL;
    reducer->report = NULL;
}

/* The error of the lowest rank without a loss, or with unusable gradients: what its program has
 * seen. */
static ht_status code_of(const ht_reducer *reducer, bool *broken)
{
    ht_status code = HT_SUCCESS;

    *broken = false;
    for (int r = reducer->comm->size - 1; r >= 0; r--) {
        *broken |= failed_as(reducer, r) != HT_BROKEN_NOT;
        if (failed_as(reducer, r) >= HT_BROKEN_NO_LOSS)
            code = (ht_status)row_of(reducer, r)[reducer->count + 1];
    }
    return code != HT_SUCCESS ? code : HT_ERR_STATE;
}

static bool report_is_there(void *user, bool *moved)
{
    const ht_reducer *reducer = user;

    *moved = ht__exchange_progress_all();
    *moved |= ht__reducers_look();
    return reducer->reporting != NULL && ht__exchange_done(reducer->reporting);
}

/* All ranks come here when they await an average of this pass. */
ht_status ht__reducer_name_missing(ht_reducer *reducer)
{
    char text[800] = "";
    ht_status status, code;
    bool broken;

    reducer->pass = HT_PASS_MISSING;
    status = ht__exchange_wait_for(reducer->reports, report_is_there, reducer,
                                   "naming parameters without a gradient");
    if (status != HT_SUCCESS)
        return status;
    describe(reducer, text, sizeof text);
    code = code_of(reducer, &broken);
    ht__reducer_end_report(reducer);
    return HT_FAIL(reducer->comm, code, "ht_nn_data_parallel: pass %d: %s; %s", reducer->passes,
                   text,
                   broken ? "the wrapper can no longer be used; end it, and wrap again"
                          : "if the forward pass leaves them out on purpose, set "
                            "find_unused_parameters");
}
