/* SPDX-License-Identifier: MIT
 *
 * The trace of a rank: Chrome's trace events as a JSON array, one event a line, each line after the
 * first event beginning with its comma. So a file without its end, after a crash, lacks only the
 * bracket, which viewers do not need. Files of several ranks are joined line by line. */
#define _GNU_SOURCE
#include "core/timeline/impl.h"
#include "ht/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 65536, LONGEST = 2048, LONGEST_NAME = 96 };

static const char *const categories[HT_SPAN_KINDS + 1] = {
    "program", "forward",       "backward", "update", "wait",
    "moving",  "communication", "loader",   "file",   "exchange"};

static int file = -1;
static int rank;
static int64_t shift;             /* nanoseconds; from this clock to that of the trace */
static uint64_t flights;          /* so far: each has a different number */
static char text[ROOM + LONGEST]; /* complete lines that are not written yet */
static size_t filled;

void ht__timeline_file_sync(void)
{
    size_t done = 0;

    while (file >= 0 && done < filled) {
        ssize_t wrote = write(file, text + done, filled - done);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0) {
            ht_log_write(HT_LOG_WARN,
                         "HT_TIMELINE: cannot continue writing: %s; the trace ends here",
                         strerror(errno));
            close(file);
            file = -1;
            break;
        }
        done += (size_t)wrote;
    }
    filled = 0;
}

/* One line. */
static void put(const char *format, ...) HT_PRINTF(1, 2);
static void put(const char *format, ...)
{
    va_list arguments;

    if (filled > ROOM)
        ht__timeline_file_sync();
    va_start(arguments, format);
    int length = vsnprintf(text + filled, LONGEST, format, arguments);
    va_end(arguments);
    if (length > 0 && length < LONGEST)
        filled += (size_t)length;
}

/* As JSON has it, in quotes; cut where it is too long, but not inside a character of UTF-8. */
static const char *quoted(const char *from, char to[6 * LONGEST_NAME + 3])
{
    size_t length = strlen(from);
    char *at = to;

    if (length > LONGEST_NAME) {
        length = LONGEST_NAME;
        while (length > 0 && ((unsigned char)from[length] & 0xC0) == 0x80)
            length--;
    }
    *at++ = '"';
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)from[i];

        if (c == '"' || c == '\\')
            *at++ = '\\';
        if (c < 0x20)
            at += sprintf(at, "\\u%04x", c);
        else
            *at++ = (char)c;
    }
    *at++ = '"';
    *at = '\0';
    return to;
}

/* Microseconds of rank 0's clock since the start, as text. A time that is negative by the
 * inaccuracy of the clocks becomes 0. */
static const char *microseconds(int64_t ns, char to[32])
{
    ns = ns > 0 ? ns : 0;
    snprintf(to, 32, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
    return to;
}

void ht__timeline_file_open(const char *path, int of_rank, int64_t by, int64_t error)
{
    char full[4096], host[256] = "", name[6 * LONGEST_NAME + 3];

    rank = of_rank;
    shift = by;
    flights = 0;
    filled = 0;
    snprintf(full, sizeof full, "%s.%d", path, rank);
    /* A FIFO without a reader would be waited for. */
    file = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file < 0) {
        ht_log_write(HT_LOG_WARN, "HT_TIMELINE: cannot write %s: %s; this rank has no trace", full,
                     strerror(errno));
        return;
    }
    gethostname(host, sizeof host - 1);
    put("[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}}\n",
        rank, rank);
    put(",{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"args\":{\"sort_index\":%d}}\n",
        rank, rank);
    put(",{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%d,\"args\":{\"labels\":%s,"
        "\"clock_error_ns\":%" PRId64 "}}\n",
        rank, quoted(host, name), error);
    ht__timeline_file_sync();
}

bool ht__timeline_file_is_open(void)
{
    return file >= 0;
}

void ht__timeline_file_thread(const timeline_thread *thread)
{
    put(",{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}}"
        "\n",
        rank, thread->id, thread->role);
    put(",{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,\"tid\":%d,\"args\":{\"sort_"
        "index\":%d}}\n",
        rank, thread->id, thread->id);
}

static void put_span(const timeline_thread *thread, const timeline_record *record)
{
    char name[6 * LONGEST_NAME + 3], of[6 * LONGEST_NAME + 3], begin[32], length[32];

    put(",{\"ph\":\"X\",\"cat\":\"%s\",\"name\":%s,\"pid\":%d,\"tid\":%d,\"ts\":%s,\"dur\":%s%s%s%"
        "s}\n",
        categories[record->kind], quoted(record->name, name), rank, thread->id,
        microseconds((int64_t)record->begin + shift, begin),
        microseconds((int64_t)(record->end - record->begin), length),
        record->of != NULL ? ",\"args\":{\"of\":" : "",
        record->of != NULL ? quoted(record->of, of) : "", record->of != NULL ? "}" : "");
}

/* Flights overlap, so each is a pair of events with a number of its own, unique within the rank. */
static void put_flight(const timeline_thread *thread, const timeline_record *record)
{
    char name[6 * LONGEST_NAME + 3], when[32];
    const char *phase[2] = {"b", "e"};

    quoted(record->name, name);
    flights++;
    for (int i = 0; i < 2; i++)
        put(",{\"ph\":\"%s\",\"cat\":\"exchange\",\"name\":%s,\"pid\":%d,\"tid\":%d,\"ts\":%s,"
            "\"id2\":{\"local\":\"0x%" PRIx64 "\"},\"args\":{\"bytes\":%" PRIu64 "}}\n",
            phase[i], name, rank, thread->id,
            microseconds((int64_t)(i == 0 ? record->begin : record->end) + shift, when), flights,
            record->bytes);
}

void ht__timeline_file_record(const timeline_thread *thread, const timeline_record *record)
{
    if (file < 0)
        return;
    if (record->kind == HT_SPAN_KINDS)
        put_flight(thread, record);
    else
        put_span(thread, record);
}

void ht__timeline_file_close(void)
{
    if (file < 0)
        return;
    put("]\n");
    ht__timeline_file_sync();
    if (file >= 0)
        close(file);
    file = -1;
}
