#!/bin/sh
# Training in which a rank stops, leaves or is cut off (tests/nn/stopped.c): the others end in time
# and name it, with the gradients that they wait for.
set -u

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
program=tests/nn/stopped
came='the other ranks did not come within 3 s (HT_TIMEOUT)'
gradients="summing the weights of the ranks' batches (different numbers of batches need a join)"

# HT_TIMEOUT, 5 s, and time to start: a launch that takes longer is ended with another status.
limit=15
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

launch 3 env HT_TIMEOUT=3 HT_RANKS_PER_NODE=1 "$program" 40 'daso die'
if [ $status -eq 137 ] && ! pgrep -fx "$program 40 daso die" >/dev/null; then
    result ok 'a rank that dies while the others exchange parameters between nodes'
else
    result 'not ok' "a rank that dies while the others exchange parameters: status $status"
    sed 's/^/# /' "$job_err"
fi

# All ranks stopped for longer than the deadline, and continued: they go on, in step, until one of
# them is asked to end.
timeout --kill-after=2 60 "${MPIRUN:-mpirun}" -n 3 env HT_TIMEOUT=3 "$program" 100000000 '' \
    </dev/null >"$job_out" 2>"$job_err" &
suspended=$!
while [ "$(wc -l <"$job_out")" -lt 3 ] && kill -0 $suspended 2>/dev/null; do sleep 0.05; done
pids=$(cat "$job_out")
# shellcheck disable=SC2086 # several
kill -STOP $pids
stopped=$?
sleep 5
# shellcheck disable=SC2086
kill -CONT $pids
kill -TERM "$(head -n 1 "$job_out")"
wait $suspended
status=$?
if [ $status -eq 0 ] && [ $stopped -eq 0 ]; then
    result ok 'training that was suspended goes on'
else
    result 'not ok' "training that was suspended goes on: status $status, stopped: $stopped"
    sed 's/^/# /' "$job_err"
fi

# A link between two hosts is cut while they train: the ranks on both sides end. mpirun itself waits
# for the other host for ever, and is ended here.
"${srcdir:-.}/tests/multinode/launch" 2 2 --cut 6 -- env HT_TIMEOUT=3 "$program" 100000000 cut$$ \
    </dev/null >"$job_out" 2>"$job_err" &
launched=$!
seconds=0
sleep 6
while kill -0 $launched 2>/dev/null && [ $seconds -lt $limit ]; do
    pgrep -fx "$program 100000000 cut$$" >/dev/null || break
    sleep 1
    seconds=$((seconds + 1))
done
left=$(pgrep -cfx "$program 100000000 cut$$")
kill $launched 2>/dev/null
wait $launched
if [ $? -eq 77 ]; then
    result ok "a link that is cut # SKIP $(sed -n 's/^launch: //p' "$job_err" | head -n 1)"
elif [ "$left" -eq 0 ] &&
    grep -q "^ht: ranks 0-1: .*: $came; not heard from: rank 2-3; rank 2 does not answer; rank 3 does not answer" "$job_err"; then
    result ok 'a link that is cut'
else
    result 'not ok' "a link that is cut: $left ranks are left"
    sed 's/^/# /' "$job_err"
fi
finish
