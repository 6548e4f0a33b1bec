#!/bin/sh
# Traces and summaries as users meet them: of the example, of a job that fails, and over a network.
set -u

here=${srcdir:-.}/tests
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
limit=${HT_TEST_TIMEOUT:-300}

# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

# check "name" COMMAND...: what it prints is shown when it fails.
check() {
    name=$1
    shift
    if "$@" >"$work/check" 2>&1; then
        result ok "$name"
    else
        result 'not ok' "$name"
        sed 's/^/# /' "$work/check"
    fi
}

launch() {
    timeout --kill-after=2 "$limit" "${MPIRUN:-mpirun}" "$@" </dev/null >"$work/out" 2>"$work/err"
    status=$?
}

# As doc/timeline.md has it.
join() {
    awk '/^[]]/ || (FNR == 1 && NR > 1) { next } FNR == 2 && NR > 2 { printf "," } { print } END { print "]" }' "$@"
}

# joined FILE RANKS: all its files in one make a trace of RANKS ranks.
joined() {
    join "$1".* >"$work/all.json"
    [ "$(tests/trace-check "$work/all.json")" = "$2" ]
}

# shellcheck source=tests/examples/images.sh
. "$here/examples/images.sh"
mkdir "$work/data"
images 120 >"$work/data/train-images-idx3-ubyte"
labels 120 >"$work/data/train-labels-idx1-ubyte"
images 20 >"$work/data/t10k-images-idx3-ubyte"
labels 20 >"$work/data/t10k-labels-idx1-ubyte"

# The mean of one time in the JSON of --profile.
mean() {
    sed -n "s/.*\"$1\": {\"mean\": \([^,]*\),.*/\1/p" "$work/p.json"
}

adds_up() {
    [ "$status" -eq 0 ] || return 1
    cat "$work/out" "$work/p.json"
    grep -q '"steps": 15,' "$work/p.json" &&
        echo "$(mean compute_s) $(mean exposed_s) $(mean moving_s) $(mean communication_s) $(mean loader_s) $(mean wall_s)" |
        awk '{ sum = $1 + $2 + $3 + $4 + $5; exit !(NF == 6 && $6 > 0 && sum > 0.95 * $6 && sum < 1.05 * $6) }'
}

has_page() {
    cat "$work/out" "$work/err"
    [ "$(grep -c '^timeline: 2 ranks, 15 steps' "$1")" -eq 1 ] && grep -q '^  wall .* 100 %' "$1"
}

mnist="examples/mnist/mnist --data $work/data --net mlp --batch-size 4 --epochs 2 --no-progress"
# shellcheck disable=SC2086 # the words of a command
launch -n 2 $mnist --profile --json "$work/p.json"
check 'the parts of --profile add up to the wall time' adds_up
check '--profile prints a page' has_page "$work/out"

# One rank's environment counts for all, for launchers do not hand on every variable.
# shellcheck disable=SC2086
launch -n 1 env HT_TIMELINE="$work/t.json" $mnist : -n 1 $mnist
check 'a run ends well with a trace' [ $status -eq 0 ]
check 'a trace of each rank' tests/trace-check "$work/t.json.0"
check 'a trace of a rank that was not told' tests/trace-check "$work/t.json.1"
check 'traces of all ranks joined' joined "$work/t.json" 2
check 'layers are drawn' grep -q '"cat":"forward","name":"[0-9]*",.*"of":"Linear"' "$work/t.json.1"
check 'the loader has a thread of its own' grep -q '"args":{"name":"loader"}' "$work/t.json.0"
check 'a page at the end' grep -q '^timeline: 2 ranks, 30 steps' "$work/err"

launch -n 3 env HT_TIMELINE="$work/f.json" tests/core/job agreed
check 'a job that fails leaves traces that can be joined' joined "$work/f.json" 3
for rank in 0 1; do # the one that waits for the end, and the one that failed
    check "and what rank $rank did until then" grep -q '"name":"ht_job"' "$work/f.json.$rank"
done

# How much lies under computing is a matter of time: for machines that do nothing else. The file itself is not declared
# long, because it skips itself anywhere else.
if [ -n "${HT_TEST_LONG:-}" ]; then
    HT_PROGRESS_THREAD=1 env -u HT_TEST_LONG timeout --kill-after=5 "$limit" "$here/multinode/launch" 2 1 --rate 1gbit -- \
        tests/nn/parallel/run-parallel --only test_data_parallel_overlap </dev/null >"$work/out" 2>&1
    status=$?
    name='half of the exchange lies under computing on 2 simulated hosts'
    if [ $status -eq 77 ]; then
        result ok "$name # SKIP $(sed -n 's/^launch: //p' "$work/out" | head -n 1)"
    else
        check "$name" sh -c "cat '$work/out'; [ $status -eq 0 ] && ! grep -q SKIP '$work/out'"
    fi
fi
plan
