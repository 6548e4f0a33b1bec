/* SPDX-License-Identifier: MIT
 *
 * Signals that ask a training program to stop: SIGTERM and SIGUSR1. Schedulers can send SIGUSR1
 * some time before they end a job (srun --signal=USR1@120). */
#ifndef HT_SIGNALS_H
#define HT_SIGNALS_H

#include "ht/error.h"

HT_BEGIN_DECLS

/* Catches SIGTERM and SIGUSR1 from now on: they are recorded and do not end the process.
 *
 * This holds for any number of them, because schedulers and launchers often send several. SIGINT
 * and SIGKILL still end the process.
 *
 * Not collective.
 * Errors: HT_ERR_STATE if the system refuses. */
HT_API ht_status ht_stop_signals_catch(void);

/* Returns the last signal that this rank has caught; 0 if there was none.
 *
 * Other ranks do not know of it. Tell them by ht_data_parallel_request_stop, or under DASO by
 * ht_allreduce (doc/checkpoints.md).
 *
 * Not collective. */
HT_API int ht_stop_signal(void);

HT_END_DECLS
#endif
