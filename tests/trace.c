/* SPDX-License-Identifier: MIT
 *
 * The JSON (RFC 8259) of a trace. */
#include "trace.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    const char *at;
    const char *wrong; /* NULL so far */
    struct trace *trace;
    struct trace_event event; /* the one that is read */
};

static bool value(struct parser *p, const char *key, int depth);

static bool fail(struct parser *p, const char *wrong)
{
    if (p->wrong == NULL)
        p->wrong = wrong;
    return false;
}

static void skip_space(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t')
        p->at++;
}

static bool take(struct parser *p, char c)
{
    skip_space(p);
    if (*p->at != c)
        return false;
    p->at++;
    return true;
}

/* One character after a backslash; below U+0080 it is kept, else a question mark is. */
static bool escape(struct parser *p, char *c)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *known = strchr(from, *p->at);
    unsigned code = 0;

    if (*p->at != '\0' && known != NULL) {
        *c = to[known - from];
        p->at++;
        return true;
    }
    if (*p->at++ != 'u')
        return fail(p, "an escape that JSON does not know");
    for (int i = 0; i < 4; i++, p->at++) {
        if (!isxdigit((unsigned char)*p->at))
            return fail(p, "\\u without four digits");
        code = 16 * code + (unsigned)strtol((char[]){*p->at, '\0'}, NULL, 16);
    }
    *c = (char)(code < 0x80 ? code : '?');
    return true;
}

static bool string(struct parser *p, char text[TRACE_TEXT])
{
    int length = 0;

    if (!take(p, '"'))
        return fail(p, "a string was expected");
    while (*p->at != '"') {
        char c = *p->at;

        if ((unsigned char)c < 0x20)
            return fail(p, "a control character, or the end, in a string");
        p->at++;
        if (c == '\\' && !escape(p, &c))
            return false;
        if (length < TRACE_TEXT - 1)
            text[length++] = c;
    }
    p->at++;
    text[length] = '\0';
    return true;
}

static bool digits(struct parser *p)
{
    if (!isdigit((unsigned char)*p->at))
        return fail(p, "a digit was expected");
    while (isdigit((unsigned char)*p->at))
        p->at++;
    return true;
}

static bool number(struct parser *p, double *x)
{
    const char *begin = p->at;

    p->at += *p->at == '-';
    if (*p->at == '0')
        p->at++;
    else if (!digits(p))
        return false;
    if (*p->at == '.' && (p->at++, !digits(p)))
        return false;
    if (*p->at == 'e' || *p->at == 'E') {
        p->at++;
        p->at += *p->at == '+' || *p->at == '-';
        if (!digits(p))
            return false;
    }
    *x = strtod(begin, NULL);
    return true;
}

static void keep_text(struct trace_event *event, const char *key, const char *text)
{
    if (strcmp(key, "ph") == 0)
        event->phase = text[1] == '\0' ? text[0] : '?';
    else if (strcmp(key, "name") == 0)
        strcpy(event->name, text);
    else if (strcmp(key, "cat") == 0)
        strcpy(event->category, text);
    else if (strcmp(key, "args.of") == 0)
        strcpy(event->of, text);
    else if (strcmp(key, "id2.local") == 0)
        strcpy(event->id, text);
}

/* `dur` comes after `ts`. */
static void keep_number(struct trace_event *event, const char *key, double x)
{
    if (strcmp(key, "pid") == 0)
        event->pid = (int)x;
    else if (strcmp(key, "tid") == 0)
        event->tid = (int)x;
    else if (strcmp(key, "ts") == 0)
        event->begin = event->end = llround(1000 * x);
    else if (strcmp(key, "dur") == 0)
        event->end = event->begin + llround(1000 * x);
}

static bool object(struct parser *p, const char *key, int depth)
{
    do {
        char name[TRACE_TEXT], path[2 * TRACE_TEXT];

        if (!string(p, name))
            return false;
        if (!take(p, ':'))
            return fail(p, "a colon was expected");
        snprintf(path, sizeof path, "%s%s%s", key, key[0] != '\0' ? "." : "", name);
        if (!value(p, path, depth + 1))
            return false;
    } while (take(p, ','));
    return take(p, '}') || fail(p, "a comma or brace was expected");
}

static void add_event(struct trace *trace, const struct trace_event *event)
{
    trace->events = realloc(trace->events, ((size_t)trace->count + 1) * sizeof *trace->events);
    if (trace->events == NULL)
        abort();
    trace->events[trace->count++] = *event;
}

static bool array(struct parser *p, const char *key, int depth)
{
    do {
        if (depth == 0)
            p->event = (struct trace_event){0};
        skip_space(p);
        if (depth == 0 && *p->at != '{')
            return fail(p, "an event is not an object");
        if (!value(p, key, depth + 1))
            return false;
        if (depth == 0)
            add_event(p->trace, &p->event);
    } while (take(p, ','));
    return take(p, ']') || fail(p, "a comma or bracket was expected");
}

static bool word(struct parser *p)
{
    static const char *const words[] = {"true", "false", "null"};

    for (int i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);

        if (strncmp(p->at, words[i], length) == 0) {
            p->at += length;
            return true;
        }
    }
    return fail(p, "this is not a value");
}

static bool value(struct parser *p, const char *key, int depth)
{
    char text[TRACE_TEXT];
    double x;

    skip_space(p);
    if (depth > 20)
        return fail(p, "too deep");
    if (take(p, '{'))
        return take(p, '}') || object(p, depth == 1 ? "" : key, depth);
    if (take(p, '['))
        return take(p, ']') || array(p, key, depth);
    if (*p->at == '"') {
        if (!string(p, text))
            return false;
        keep_text(&p->event, key, text);
        return true;
    }
    if (*p->at != '-' && !isdigit((unsigned char)*p->at))
        return word(p);
    if (!number(p, &x))
        return false;
    keep_number(&p->event, key, x);
    return true;
}

struct trace *trace_parse(const char *text, const char **wrong)
{
    static char message[256];
    struct trace *trace = calloc(1, sizeof *trace);
    struct parser p = {.at = text, .trace = trace};

    if (trace == NULL)
        abort();
    skip_space(&p);
    if (*p.at != '[')
        fail(&p, "no array");
    else if (value(&p, "", 0) && (skip_space(&p), *p.at != '\0'))
        fail(&p, "something after the end");
    if (p.wrong == NULL)
        return trace;
    snprintf(message, sizeof message, "character %td: %s: %.40s", p.at - text, p.wrong, p.at);
    *wrong = message;
    trace_free(trace);
    return NULL;
}

struct trace *trace_read(const char *path, const char **wrong)
{
    FILE *file = fopen(path, "rb");
    struct trace *trace;
    char *text = NULL;
    size_t length = 0, got;

    *wrong = "it cannot be opened";
    if (file == NULL)
        return NULL;
    do {
        text = realloc(text, length + 65537);
        if (text == NULL)
            abort();
        got = fread(text + length, 1, 65536, file);
        length += got;
    } while (got > 0);
    text[length] = '\0';
    fclose(file);
    trace = trace_parse(text, wrong);
    free(text);
    return trace;
}

void trace_free(struct trace *trace)
{
    free(trace->events);
    free(trace);
}
