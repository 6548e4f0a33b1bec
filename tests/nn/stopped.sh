#!/bin/sh
# Training in which a rank stops, leaves or is cut off (tests/nn/stopped.c): the others end in time
# and name it, with the gradients that they wait for.
set -u

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
program=tests/nn/stopped
came='the other ranks did not arrive within 3 s (HT_TIMEOUT)'
gradients="summing the weights of the ranks' batches (different numbers of batches need a join)"

says 'a rank that stops in step 20' \
    "ht: ranks 0, 2: $gradients: $came; not heard from: rank 1; rank 1 does not answer" \
    3 env HT_TIMEOUT=3 "$program" 40 stop
says 'a rank that computes without end in step 20' \
    "ht: ranks 0, 2: $gradients: $came; not heard from: rank 1; rank 1 computes, last in fc1" \
    3 env HT_TIMEOUT=3 "$program" 40 compute
says 'a rank with fewer steps' \
    "ht: rank 1: ht_finalize: $came; rank 0 is in $gradients; rank 2 is in $gradients
ht: ranks 0, 2: $gradients: $came; rank 1 is in ht_finalize" \
    3 env HT_TIMEOUT=3 "$program" 40 leave

between="DASO's exchange between nodes"
says 'a rank that stops while the others exchange parameters between nodes' \
    "ht: ranks 0, 2: $between: $came; not heard from: rank 1; rank 1 does not answer" \
    3 env HT_TIMEOUT=3 HT_RANKS_PER_NODE=1 "$program" 40 'daso stop'

# gone COMMAND: no process has this command line.
gone() {
    ! pgrep -fx "$1" >/dev/null
}

# Not ended by the limit, which would leave the same status.
launch 3 env HT_TIMEOUT=3 HT_RANKS_PER_NODE=1 "$program" 40 'daso die' $$
if within_limit gone "$program 40 daso die $$" && [ $status -eq 137 ] && [ $timed_out = no ]; then
    result ok 'a rank that dies while the others exchange parameters between nodes'
else
    result 'not ok' "a rank that dies while the others exchange parameters: status $status"
    sed 's/^/# /' "$job_err"
fi

# Ranks whose devices average the gradients.
if [ -f tests/backends/cuda/.libs/libht_cuda.so ]; then
    says 'a rank that stops while the devices are linked' \
        "ht: ranks 0, 2: $gradients: $came; not heard from: rank 1; rank 1 does not answer" \
        3 env HT_TIMEOUT=3 "$program" 40 'link stop'
    says 'a device that never sends its gradients' 'ht: ranks 0-2: waiting for a device: the device did not answer within 3 s (HT_TIMEOUT)' \
        3 env HT_TIMEOUT=3 "$program" 40 'link stall'
    launch 3 env HT_TIMEOUT=3 "$program" 40 'link die'
    if [ $status -eq 137 ] && [ $timed_out = no ]; then
        result ok 'a rank that dies while the devices are linked'
    else
        result 'not ok' "a rank that dies while the devices are linked: status $status"
        sed 's/^/# /' "$job_err"
    fi
else
    result ok 'ranks whose devices are linked # SKIP there is no C++ compiler'
fi

# All ranks stopped for longer than the deadline, and continued: they run on, in step, until one of them is asked to
# end.
background 3 env HT_TIMEOUT=5 "$program" 100000000 ''
within_limit printed 3 . "$job_out"
pids=$(cat "$job_out")
# shellcheck disable=SC2086 # several
kill -STOP $pids
stopped=$?
sleep 8
# shellcheck disable=SC2086
kill -CONT $pids
kill -TERM "$(head -n 1 "$job_out")"
wait $!
status=$?
if [ $status -eq 0 ] && [ $stopped -eq 0 ]; then
    result ok 'training that was suspended goes on'
else
    result 'not ok' "training that was suspended goes on: status $status, stopped: $stopped"
    sed 's/^/# /' "$job_err"
fi

# A link between two hosts is cut when all four ranks train: those on both sides end. mpirun itself waits
# for the other host for ever, and is ended here.
cut=job.$$.cut
: >"$job_out"
: >"$job_err"
"${srcdir:-.}/tests/multinode/launch" 2 2 --cut $cut -- env HT_TIMEOUT=5 "$program" 100000000 cut$$ \
    </dev/null >"$job_out" 2>"$job_err" &
within_limit printed 4 '^[0-9]' "$job_out"
touch $cut
within_limit gone "$program 100000000 cut$$"
left=$?
within_limit printed 1 '^ht: ' "$job_err"
kill $! 2>/dev/null
wait $!
status=$?
rm -f $cut
if [ $status -eq 77 ]; then
    result ok "a link that is cut # SKIP $(sed -n 's/^launch: //p' "$job_err" | head -n 1)"
elif [ $left -eq 0 ] &&
    grep -q "^ht: ranks 0-1: .*: the other ranks did not arrive within 5 s (HT_TIMEOUT); not heard from: rank 2-3; rank 2 does not answer; rank 3 does not answer" "$job_err"; then
    result ok 'a link that is cut'
else
    result 'not ok' "a link that is cut: status $status, ranks that are left: $left"
    sed 's/^/# /' "$job_err"
fi
finish
