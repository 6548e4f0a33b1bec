/* SPDX-License-Identifier: MIT
 *
 * The signals that ask for a stop. They are only noted. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "core/base/base.h"
#include "ht/signals.h"

static volatile sig_atomic_t noted;

static void note(int number)
{
    noted = number;
}

ht_status ht_stop_signals_catch(void)
{
    static const int signals[] = {SIGTERM, SIGUSR1};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action = {.sa_handler = note};

        action.sa_flags = SA_RESTART; /* interrupted calls continue */
        sigemptyset(&action.sa_mask);
        if (sigaction(signals[i], &action, NULL) != 0)
            return HT_FAIL(NULL, HT_ERR_STATE, "ht_stop_signals_catch: %s", strerror(errno));
    }
    return HT_SUCCESS;
}

int ht_stop_signal(void)
{
    return noted;
}
