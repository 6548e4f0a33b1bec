/* SPDX-License-Identifier: MIT
 *
 * The log: lines "ht[rank] level: text" on stderr. HT_LOG=error|warn|info|debug sets the level
 * (default warn). Warnings and information that all ranks would repeat come from rank 0 alone. */
#ifndef HT_LOG_H
#define HT_LOG_H

#include "ht/types.h"

HT_BEGIN_DECLS

typedef enum ht_log_level { HT_LOG_ERROR, HT_LOG_WARN, HT_LOG_INFO, HT_LOG_DEBUG } ht_log_level;

/* Writes one line on this rank if `level` is enabled. Not collective. */
HT_API void ht_log_write(ht_log_level level, const char *format, ...) HT_PRINTF(2, 3);

/* As ht_log_write, on rank 0 of the world only. Not collective. */
HT_API void ht_log_write0(ht_log_level level, const char *format, ...) HT_PRINTF(2, 3);

HT_API void ht_log_set_level(ht_log_level level);
HT_API ht_log_level ht_log_get_level(void);

/* Receives lines instead of stderr, on the thread that logs, one at a time; NULL restores stderr. A
 * sink may log, which goes to stderr, and may set another sink. Not collective. */
typedef void ht_log_fn(ht_log_level level, const char *line, void *user);
HT_API void ht_log_set_sink(ht_log_fn *sink, void *user);

HT_END_DECLS
#endif
