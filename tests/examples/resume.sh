#!/bin/sh
# The example is killed at random moments, also while it writes a checkpoint. A run resumed from the checkpoint has the
# parameters of a run without interruption. On other rank counts it sees every row of the interrupted epoch exactly
# once. 3 kills; 30 with HT_TEST_LONG=1.
# shellcheck disable=SC2046 # lists of processes are split on purpose
set -u

program=$PWD/examples/mnist/mnist
run=$PWD/tools/ht-run
kills=${HT_TEST_LONG:+30}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/data" "$work/tmp"
export TMPDIR="$work/tmp"

# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
# shellcheck source=tests/examples/images.sh
. "${srcdir:-.}/tests/examples/images.sh"
images 200 >"$work/data/train-images-idx3-ubyte"
labels 200 >"$work/data/train-labels-idx1-ubyte"
images 50 >"$work/data/t10k-images-idx3-ubyte"
labels 50 >"$work/data/t10k-labels-idx1-ubyte"
cd "$work" || exit 1

# check "name" CONDITION...
check() {
    name=$1
    shift
    if "$@"; then
        result ok "$name"
    else
        result 'not ok' "$name: $*"
        sed 's/^/# /' err
    fi
}

# example RANKS EPOCHS ARGUMENT...
example() {
    ranks=$1 epochs=$2
    shift 2
    exec timeout --kill-after=2 300 "${MPIRUN:-mpirun}" -n "$ranks" "$program" --data "$work/data" \
        --batch-size 16 --epochs "$epochs" --no-progress "$@" </dev/null >out 2>err
}

# job RANKS ARGUMENT...: two epochs of it, in the foreground.
job() {
    ranks=$1
    shift
    (example "$ranks" 2 --json result "$@")
}

digest() {
    sed -n 's/.*"parameters_sha256": "\([0-9a-f]*\)".*/\1/p' result
    rm -f result
}

# The processes that $1 has started.
children() {
    cat "/proc/$1/task/$1/children" 2>/dev/null
}

# The ranks of the example in process $!: timeout has started mpirun, which has started them.
ranks() {
    for launcher in $(children $!); do
        children "$launcher"
    done
}

# A random number below $1.
below() {
    echo $(($(od -An -N2 -tu2 /dev/urandom) % $1))
}

# random_one WORD...
random_one() {
    [ $# -gt 0 ] || return
    shift "$(below $#)"
    echo "$1"
}

runs() {
    kill -0 $! 2>/dev/null
}

pause() {
    sleep "$(awk "BEGIN { print $(below "$1") / 1000 }")"
}

# The moment to kill at: `anytime`, `later` than the first checkpoint, or `writing` one; the earlier, the
# more tries were too late. False: job $! has ended before.
wait_for() {
    case $1 in
    anytime) pause $((milliseconds / try + 1)) ;;
    later)
        while [ ! -e run.h5 ] && runs; do sleep 0.01; done
        pause $((milliseconds / 2 / try + 1))
        ;;
    writing)
        for _ in $(seq "$(below $((try < 6 ? 7 - try : 1)))"); do
            while [ ! -e run.h5.part ] && runs; do sleep 0.005; done
            while [ -e run.h5.part ] && runs; do sleep 0.005; done
        done
        while [ ! -e run.h5.part ] && runs; do sleep 0.001; done
        ;;
    esac
    runs
}

# kill_one EPOCHS HOW: three ranks with checkpoints after each step, until one of them is killed. Tries
# again when the job was faster.
kill_one() {
    for try in 1 2 3 4 5 6 7 8 9 10 11 12; do
        rm -f run.h5* rows.*
        example 3 "$1" --save run.h5 --save-every 1 --log-rows rows &
        if wait_for "$2"; then
            victim=$(random_one $(ranks))
            [ -z "$victim" ] || kill -KILL "$victim" 2>/dev/null
        fi
        wait $! || return 0
    done
    return 1
}

# Resumes from the checkpoint, strictly, if there was time to write one.
resume() {
    if [ -e run.h5 ]; then
        echo --resume run.h5
    fi
}

# Every row of the epoch that was interrupted once: in a step before the checkpoint, or after.
every_row_once() {
    epoch=$(sed -n 's/^resumed from .* after \([0-9]*\) epochs* and [0-9]* steps*$/\1/p' out)
    steps=$(sed -n 's/^resumed from .* after [0-9]* epochs* and \([0-9]*\) steps*$/\1/p' out)
    [ -n "$epoch" ] || return 1
    {
        awk -v e="$epoch" -v s="$steps" '$1 == e && $2 <= s { for (i = 3; i <= NF; i++) print $i }' rows.*
        awk -v e="$epoch" '$1 == e { for (i = 3; i <= NF; i++) print $i }' more.*
    } | sort -n | awk '$1 != NR - 1 { bad = 1 } END { exit bad || NR != 200 }'
}

start=$(date +%s%N)
job 3
whole=$(digest)
milliseconds=$((($(date +%s%N) - start) / 1000000 + 1000))
check 'a run that is not interrupted' [ -n "$whole" ]

for i in $(seq "${kills:-3}"); do
    case $((i % 3)) in
    0) how=anytime ;;
    1) how=writing ;;
    2) how=later ;;
    esac
    if ! kill_one 2 "$how"; then
        result ok "kill $i # SKIP the job was always faster"
        continue
    fi
    at=$(ls run.h5* 2>/dev/null | tr '\n' ' ')
    job 3 $(resume)
    check "kill $i, $how (${at:-no checkpoint}): ends as if it had not happened" [ "$(digest)" = "$whole" ]
done

# The killed job has no end, so that it is killed in an epoch, whichever.
for others in 2 4; do
    rm -f run.h5 more.*
    for _ in 1 2 3 4 5 6 7 8; do
        [ -e run.h5 ] || kill_one 100000 writing
    done
    job $others --resume run.h5 --log-rows more --epochs $(($(tail -n 1 rows.0 | cut -d ' ' -f 1) + 2))
    check "every row once after 3 ranks and then $others" every_row_once
done

# A signal to one rank, and another one while all save: after the same step, and they end well.
for signal in USR1 TERM; do
    rm -f run.h5* out
    example 3 100000 --save run.h5 --log-rows rows &
    while ! grep -qs '^epoch 1/' out && runs; do sleep 0.02; done
    victim=$(random_one $(ranks))
    kill -$signal "$victim"
    while [ ! -e run.h5.part ] && [ ! -e run.h5 ] && runs; do sleep 0.002; done
    kill -$signal "$victim" 2>/dev/null
    check "SIG$signal to one rank ends the job well" wait $!
    check 'and says so' grep -q 'stopped by a signal after .* continue with --resume run.h5' out
    mv run.h5 stopped.h5
    check 'and a checkpoint is there' job 3 --resume stopped.h5 --epochs 1
done

# Again when the job was faster.
kill_under_ht_run() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
        rm -f run.h5* result
        "$run" --delay 0 -- "${MPIRUN:-mpirun}" -n 3 "$program" --data "$work/data" --batch-size 16 --epochs 2 \
            --no-progress --json result --save run.h5 --save-every 1 </dev/null >out 2>err &
        while [ ! -e run.h5 ] && runs; do sleep 0.01; done
        kill -KILL "$(random_one $(ranks))" 2>/dev/null
        wait $!
        status=$?
        ! grep -q 'starting it again' err || return
    done
}
kill_under_ht_run
check 'ht-run ends well' [ $status -eq 0 ]
check 'with the same parameters' [ "$(digest)" = "$whole" ]
check 'and says what it did' grep -q \
    'ht-run: the job ended with status 137 (signal 9: Killed); starting it again (1 of 3) from run.h5, written' err

"$run" -- sh -c 'exit 3' 2>err
check 'ht-run leaves an error alone' [ "$?$(cat err)" = \
    "3ht-run: the job ended with status 3 before it wrote a checkpoint, so it is not started again" ]
"$run" --delay 0 -- "${MPIRUN:-mpirun}" -n 2 ./nothing 2>err
check 'ht-run does not try a program again that is not there' [ "$?$(grep -c 'not started again' err)" = 1321 ]
"$run" --retries 0 -- sh -c 'kill -9 $$' 2>err
check 'ht-run without retries' [ "$?$(grep -c 'starting it again' err)" = 1370 ]
"$run" --retries 2 --delay 0.2 -- sh -c 'kill -9 $$' 2>err
check 'ht-run gives up' [ "$?$(grep -c 'starting it again' err)$(tail -n 1 err)" = \
    "1372ht-run: the job ended with status 137 (signal 9: Killed); giving up after 2 retries" ]
"$run" --retries x -- true 2>err
check 'ht-run refuses a wrong number' [ $? -eq 2 ]
"$run" --checkpoint -- true 2>err
check 'ht-run does not take -- for a file' [ $? -eq 2 ]

# restarted COMMAND: under ht-run, with a checkpoint of the job before there, the first start runs COMMAND and
# is killed; prints the arguments of the second.
restarted() {
    rm -f begun
    "$run" --delay 0 --checkpoint run.h5 -- sh -c \
        "[ -e begun ] || { touch begun; $1; kill -9 \$\$; }; echo args \$*" job 2>err
}
rm -f run.h5*
job 1 --epochs 1 --seed 7 --save run.h5
check 'what another job has saved before does not count' [ "$(restarted :)" = args ]
check 'what the job has saved does' \
    [ "$(restarted 'cp run.h5 other; mv other run.h5')" = 'args --resume run.h5 --or-earlier' ]
plan
