/* SPDX-License-Identifier: MIT
 *
 * The log: lines "ht[rank] level: text" on stderr, or in a sink of the program's.
 *
 * HT_LOG=error|warn|info|debug sets the level; the default is warn. Warnings and information that
 * all ranks would repeat come from rank 0 only. Not collective. */
#ifndef HT_LOG_H
#define HT_LOG_H

#include "ht/types.h"

HT_BEGIN_DECLS

typedef enum ht_log_level { HT_LOG_ERROR, HT_LOG_WARN, HT_LOG_INFO, HT_LOG_DEBUG } ht_log_level;

/* Writes one line on this rank, cut off after 2047 bytes, if the level is enabled.
 *
 * level: the line's level; written if it is at most the level in use.
 * format: the text, in printf's notation. */
HT_API void ht_log_write(ht_log_level level, const char *format, ...) HT_PRINTF(2, 3);

/* ht_log_write of level and format, on rank 0 of the world only. */
HT_API void ht_log_write0(ht_log_level level, const char *format, ...) HT_PRINTF(2, 3);

/* Sets the level in use on this rank to level; it replaces that of HT_LOG. A level above
 * HT_LOG_DEBUG writes all lines, and one below HT_LOG_ERROR none. */
HT_API void ht_log_set_level(ht_log_level level);

/* Returns the level in use on this rank. */
HT_API ht_log_level ht_log_get_level(void);

/* A sink: receives a line of at most 2047 bytes, without its end, that is valid during the call.
 *
 * It is called on the thread that logs, for one line at a time. It may log, which goes to stderr,
 * and may set another sink. */
typedef void ht_log_fn(ht_log_level level, const char *line, void *user);

/* Sends the lines of this rank to a sink instead of stderr.
 *
 * It waits until no other thread is in the old sink, which is not called after that.
 *
 * sink: the function that receives lines; NULL restores stderr.
 * user: handed to sink; borrowed until another call has replaced it. */
HT_API void ht_log_set_sink(ht_log_fn *sink, void *user);

HT_END_DECLS
#endif
