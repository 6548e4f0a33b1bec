/* SPDX-License-Identifier: MIT
 *
 * Signals that ask a training program to stop: SIGTERM, and SIGUSR1, which schedulers send some
 * time before they end a job (srun --signal=USR1@120). */
#ifndef HT_SIGNALS_H
#define HT_SIGNALS_H

#include "ht/error.h"

HT_BEGIN_DECLS

/* From now on SIGTERM and SIGUSR1 are noted in place of ending the process, however many come:
 * schedulers and launchers often send several. SIGINT and SIGKILL end it as ever. Not collective.
 */
HT_API ht_status ht_stop_signals_catch(void);

/* The last one that this rank has noted; 0: none. What one rank alone knows the others have to be
 * told: ht_data_parallel_request_stop, under DASO ht_allreduce (doc/checkpoints.md). Not
 * collective. */
HT_API int ht_stop_signal(void);

HT_END_DECLS
#endif
