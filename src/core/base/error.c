/* SPDX-License-Identifier: MIT
 *
 * The last error of each thread. */
#include "core/base/base.h"
#include "ht/error.h"
#include "ht/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct {
    ht_status code;
    uint64_t number; /* of the errors of this thread */
    char message[HT_MESSAGE_LENGTH];
} last;

static _Thread_local bool held;

static const char *const names[HT_ERROR_COUNT] = {
#define ROW(id, text) #id,
    HT_ERROR_LIST(ROW)
#undef ROW
};

const char *ht_status_name(ht_status status)
{
    return (unsigned)status < HT_ERROR_COUNT ? names[status] : "invalid status";
}

ht_status ht_error_get(const char **message)
{
    if (message != NULL)
        *message = last.message;
    return last.code;
}

ht_status ht__error_last(const char **message)
{
    return ht_error_get(message);
}

void ht_error_clear(void)
{
    last.code = HT_SUCCESS;
    last.message[0] = '\0';
}

void ht__error_set_aside(ht_error_kept *kept)
{
    kept->code = last.code;
    kept->number = last.number;
    if (last.code == HT_SUCCESS)
        return;
    memcpy(kept->message, last.message, sizeof kept->message);
    ht_error_clear();
}

void ht__error_put_back(const ht_error_kept *kept)
{
    if (kept->code == HT_SUCCESS || last.code != HT_SUCCESS)
        return;
    last.code = kept->code;
    last.number = kept->number;
    memcpy(last.message, kept->message, sizeof last.message);
}

uint64_t ht__error_number(void)
{
    return last.code != HT_SUCCESS ? last.number : 0;
}

bool ht__error_hold(bool hold)
{
    bool was = held;

    held = hold;
    return was;
}

_Thread_local const char *ht__layer;

static _Thread_local const char *called; /* the public function, for those inside; NULL: none */

const char *ht__named(const char *what)
{
    const char *outer = called;

    if (outer == NULL)
        called = what;
    return outer;
}

const char *ht__unnamed(void)
{
    const char *outer = called;

    called = NULL;
    return outer;
}

void ht__named_end(const char *const *outer)
{
    called = *outer;
}

/* The length of the public function's name that a text begins with. 0 unless `end` follows it, as
 * ':' does in a message that does not name a layer yet. */
static size_t name_length(const char *message, char end)
{
    const size_t length = strspn(message, "abcdefghijklmnopqrstuvwxyz0123456789_");

    return strncmp(message, "ht_", 3) == 0 && message[length] == end ? length : 0;
}

const char *ht__called(const char *what)
{
    return called != NULL && name_length(what, '\0') > 0 ? called : what;
}

static void record(ht_status code, const char *format, va_list arguments)
{
    static _Thread_local uint64_t errors;
    char text[sizeof last.message]; /* arguments may point into the last message */
    size_t name;

    vsnprintf(text, sizeof text, format, arguments);
    name = called != NULL ? name_length(text, ':') : 0;
    last.code = code;
    last.number = ++errors;
    snprintf(last.message, sizeof last.message, "%s%s", name > 0 ? called : "", text + name);
}

/* After the function's name, unless the message has come through here before. */
static void name_layer(void)
{
    char text[sizeof last.message];
    size_t name = name_length(last.message, ':');

    if (ht__layer == NULL || ht__layer[0] == '\0' || name == 0)
        return;
    memcpy(text, last.message, sizeof text);
    snprintf(last.message, sizeof last.message, "%.*s in %.200s%s", (int)name, text, ht__layer,
             text + name);
}

ht_status ht__error_set(ht_status code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    record(code, format, arguments);
    va_end(arguments);
    return code;
}

ht_status ht__error_set_null(const char *what, const char *name)
{
    if (last.code == HT_SUCCESS)
        ht__error_set(HT_ERR_ARGUMENT, "%s: %s is NULL", what, name);
    return last.code;
}

ht_status ht__fail(ht_comm *comm, ht_status code, bool here, const char *file, int line,
                   const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    record(code, format, arguments);
    va_end(arguments);
    name_layer();
    ht_log_write(HT_LOG_DEBUG, "%s raised at %s:%d: %s", ht_status_name(code), file, line,
                 last.message);
    if (held)
        return code;
    if (ht__process.raised == NULL)
        ht__abort(code, last.message);
    ht__process.raised(comm, code, here, last.message);
    return code;
}

bool ht__fail_null(ht_comm *comm, const char *what, const char *name)
{
    if (last.code == HT_SUCCESS)
        HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: %s is NULL", what, name);
    return true;
}

ht_status ht__kernel_failed(ht_comm *comm, const char *what)
{
    const char *cause;
    ht_status code = ht_error_get(&cause);

    return HT_FAIL_HERE(comm, code != HT_SUCCESS ? code : HT_ERR_DEVICE, "%s: %s", what, cause);
}

const char *ht__int_str(int value)
{
    static _Thread_local char texts[4][16];
    static _Thread_local unsigned next;
    char *text = texts[next++ % 4];

    snprintf(text, sizeof texts[0], value == HT_NONE ? "HT_NONE" : "%d", value);
    return text;
}

const char *ht__shape_str(int ndim, const int64_t shape[])
{
    static _Thread_local char texts[4][160];
    static _Thread_local unsigned next;
    char *text = texts[next++ % 4];
    size_t room = sizeof texts[0], used = 0;

    used += (size_t)snprintf(text, room, "(");
    for (int i = 0; i < ndim && used < room - 24; i++)
        used += (size_t)snprintf(text + used, room - used, i > 0 ? ", %" PRId64 : "%" PRId64,
                                 shape[i]);
    snprintf(text + used, room - used, ndim == 1 ? ",)" : ")");
    return text;
}
