/* SPDX-License-Identifier: MIT */
#include "core/base/base.h"
#include "ht/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/environment.h"

static const char *const level_names[] = {"error", "warn", "info", "debug"};
enum { UNREAD = -2, NOTHING = -1 }; /* before the environment is read; no lines */
static atomic_int level_now = UNREAD;
static ht_log_fn *sink;
static void *sink_user;
static pthread_mutex_t sink_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool in_sink; /* of this thread, which has the lock */

static int level_from_environment(void)
{
    int level = ht__env_choice(HT_ENV_HT_LOG);

    return level >= 0 ? level : HT_LOG_WARN;
}

ht_log_level ht_log_get_level(void)
{
    int level = atomic_load_explicit(&level_now, memory_order_relaxed);

    if (level == UNREAD) {
        level = level_from_environment();
        atomic_store(&level_now, level);
    }
    return (ht_log_level)level;
}

void ht_log_set_level(ht_log_level level)
{
    atomic_store(&level_now, (int)level < NOTHING ? NOTHING : (int)level);
}

static bool is_written(ht_log_level level)
{
    return (int)level <= (int)ht_log_get_level();
}

/* Lines of a level that does not exist are those of the nearest one. */
static const char *level_name(ht_log_level level)
{
    const int last = (int)(sizeof level_names / sizeof *level_names) - 1;

    return level_names[(int)level < 0 ? 0 : (int)level < last ? (int)level : last];
}

static bool lock_sink(void)
{
    bool first = !in_sink;

    if (first)
        pthread_mutex_lock(&sink_mutex);
    in_sink = true;
    return first;
}

static void unlock_sink(bool first)
{
    if (!first)
        return;
    in_sink = false;
    pthread_mutex_unlock(&sink_mutex);
}

void ht_log_set_sink(ht_log_fn *new_sink, void *user)
{
    bool first = lock_sink();

    sink = new_sink;
    sink_user = user;
    unlock_sink(first);
}

static void write_line(ht_log_level level, const char *format, va_list arguments)
{
    bool first;
    char line[2048];
    int head = snprintf(line, sizeof line, "ht[%d] %s: ", ht__process.rank, level_name(level));

    vsnprintf(line + head, sizeof line - (size_t)head, format, arguments);
    first = lock_sink();
    if (sink != NULL && first)
        sink(level, line, sink_user);
    else
        fprintf(stderr, "%s\n", line);
    unlock_sink(first);
}

void ht_log_write(ht_log_level level, const char *format, ...)
{
    va_list arguments;

    if (!is_written(level))
        return;
    va_start(arguments, format);
    write_line(level, format, arguments);
    va_end(arguments);
}

void ht_log_write0(ht_log_level level, const char *format, ...)
{
    va_list arguments;

    if (!is_written(level) || ht__process.rank != 0)
        return;
    va_start(arguments, format);
    write_line(level, format, arguments);
    va_end(arguments);
}
