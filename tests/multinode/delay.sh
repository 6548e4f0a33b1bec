#!/bin/sh
# Simulated hosts at a distance: packets that leave one are late, and jobs run over them. The cables between them (on
# kernels without netem) end with the launcher.
set -u

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
far=${srcdir:-.}/tests/multinode/launch

skips() { # skips NAME: with the reason that the launcher gave
    result ok "$1 # SKIP $(sed -n 's/^launch: //p' "$job_err" | head -n 1)"
}

# runs "name" COMMAND...
runs() {
    name=$1
    shift
    timeout --kill-after=5 "${HT_TEST_TIMEOUT:-300}" "$@" </dev/null >"$job_out" 2>"$job_err"
    status=$?
    case $status in
    0) result ok "$name" ;;
    77) skips "$name" ;;
    *)
        result 'not ok' "$name: status $status"
        sed 's/^/# /' "$job_out" "$job_err"
        ;;
    esac
}

# Bounds from below alone: a slow machine keeps them.
runs 'a round trip of 2 x 20 ms' "$far" 2 1 --delay 20 -- tests/core/job trips 10 0.4
runs 'a delay in us, on links with a rate' "$far" 2 1 --rate 1gbit --delay 3000us -- tests/core/job trips 100 0.6
runs 'training on hosts 200 us apart' "$far" 2 2 --rate 1gbit --delay 200us -- \
    tests/nn/parallel/run-parallel --only test_data_parallel:

"$far" 2 1 --delay 20m -- true </dev/null >"$job_out" 2>"$job_err"
case $? in
2) result ok 'a delay that is no time' ;;
77) skips 'a delay that is no time' ;;
*) result 'not ok' 'a delay that is no time' ;;
esac

# Cables so long that no job would start, known by their length.
length=1$$
there() { pgrep -f "multinode/cable ${length}000 " >/dev/null; }
gone() { ! there; }
begun() { there || ! kill -0 "$launched" 2>/dev/null; }

for signal in TERM KILL; do
    name="cables end with a launcher that SIG$signal ends"
    "$far" 2 1 --delay ${length}us -- true </dev/null >"$job_out" 2>"$job_err" &
    launched=$!
    within_limit begun
    there
    none=$?
    kill -$signal "$launched" 2>/dev/null
    wait "$launched"
    status=$?
    if [ $status -eq 77 ]; then
        skips "$name"
    elif [ $none -ne 0 ]; then
        result ok "$name # SKIP there are none: the kernel has netem"
    elif within_limit gone; then
        result ok "$name"
    else
        result 'not ok' "$name"
        pgrep -af multinode/cable | sed 's/^/# /'
    fi
done
finish
