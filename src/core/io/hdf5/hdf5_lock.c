/* SPDX-License-Identifier: MIT
 *
 * The one lock around HDF5, which is not thread-safe, and its error stack as text. */
#include "core/io/hdf5/hdf5.h"
#include "core/timeline/timeline.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int depth; /* of begin, under the lock */
static int span;  /* likewise */
static H5E_auto2_t users_handler;
static void *users_data;

static void make_lock(void)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

void ht_hdf5_lock(void)
{
    pthread_once(&once, make_lock);
    pthread_mutex_lock(&lock);
}

void ht_hdf5_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void ht__hdf5_begin(void)
{
    ht_hdf5_lock();
    if (depth++ > 0)
        return;
    span = ht__span_begin(HT_SPAN_FILE, "HDF5", NULL);
    H5Eget_auto2(H5E_DEFAULT, &users_handler, &users_data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void ht__hdf5_end(void)
{
    if (--depth == 0) {
        H5Eset_auto2(H5E_DEFAULT, users_handler, users_data);
        ht__span_end(span);
    }
    ht_hdf5_unlock();
}

struct innermost {
    char *text;
    size_t bytes;
};

static herr_t take_first(unsigned place, const H5E_error2_t *error, void *user)
{
    struct innermost *innermost = user;

    if (place == 0 && error->desc != NULL)
        snprintf(innermost->text, innermost->bytes, "%s", error->desc);
    return 0;
}

/* Failed system calls are described with time, addresses and more, which differ between ranks:
 *     "... , errno = 28, error message = 'No space left on device', buf = 0x7f...". The message is
 * enough. */
static void shorten(char *text)
{
    static const char mark[] = "error message = '";
    char *cause = strstr(text, mark), *end;

    if (cause == NULL)
        return;
    cause += sizeof mark - 1;
    end = strchr(cause, '\'');
    if (end != NULL)
        *end = '\0';
    memmove(text, cause, strlen(cause) + 1);
}

/* HDF5's "truncated file: eof = 20000, sblock->base_addr = 0, stored_eof = 44136". */
static void say_truncated(char *text, size_t room)
{
    unsigned long long has, base, had;

    if (sscanf(text, "truncated file: eof = %llu, sblock->base_addr = %llu, stored_eof = %llu",
               &has, &base, &had) == 3)
        snprintf(text, room, "it has %llu bytes, but had %llu when it was written", has,
                 base + had);
}

/* HDF5's "addr overflow, addr = 32544, size = 144, eoa = 2992". */
static void say_overflow(char *text, size_t room)
{
    unsigned long long at, bytes, end;

    if (sscanf(text, "addr overflow, addr = %llu, size = %llu, eoa = %llu", &at, &bytes, &end) == 3)
        snprintf(text, room, "the file is damaged: it points to byte %llu, beyond its end at %llu",
                 at, end);
}

const char *ht__hdf5_error(void)
{
    static _Thread_local char text[512];
    struct innermost innermost = {text, sizeof text};

    snprintf(text, sizeof text, "HDF5 gives no reason");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &innermost);
    shorten(text);
    say_truncated(text, sizeof text);
    say_overflow(text, sizeof text);
    return text;
}
