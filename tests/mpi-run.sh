#!/bin/sh
# usage: mpi-run.sh RUNNER
# Runs a test runner (tests/runner.c) under mpirun, once for each rank count that its tests declare,
# and merges the jobs into one TAP stream: "ok 5 - test_scope:test_close [ranks 3]".
#   HT_TEST_RANKS    use only these rank counts
#   HT_TEST_ONLY     run only tests with this in their names, up to the first that fails
#   HT_TEST_TIMEOUT  seconds that one job may take [900, in which libht itself ends jobs that hang: HT_TIMEOUT]
# A job that ends early, however it does, failed in the test it announced last; the tests after
# that one get a new job. Each runner's jobs run in a separate folder, because runners write files of the same names at
# once.
set -u

case $1 in
/*) runner=$1 ;;
*) runner=$PWD/$1 ;;
esac
limit=${HT_TEST_TIMEOUT:-900}
most_restarts=10

work=$(mktemp -d)
mkdir "$work/files"
HT_TEST_REPORT=$work/report
export HT_TEST_REPORT
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work/files" || exit

count=0

# result "ok" or "not ok", name, [what follows it]
result() {
    count=$((count + 1))
    echo "$1 $count - $2 [ranks $ranks]${3:-}"
}

# Reads the report of one job. Leaves in $running the test that has begun and not ended, and in
# $finished whether the job came to its end.
read_report() {
    running='' finished=no
    while IFS= read -r line; do
        case $line in
        '# run '*) running=${line#'# run '} ;;
        'ok - '*' # SKIP '*)
            line=${line#'ok - '}
            result ok "${line%%' # SKIP '*}" " # SKIP ${line#*' # SKIP '}"
            running=''
            ;;
        'ok - '*)
            result ok "${line#'ok - '}"
            running=''
            ;;
        1..*) finished=yes ;;
        esac
    done <"$HT_TEST_REPORT"
}

run_job() {
    : >"$HT_TEST_REPORT"
    timeout --kill-after=5 "$limit" "${MPIRUN:-mpirun}" -n "$ranks" "$runner" ${HT_TEST_ONLY:+--only "$HT_TEST_ONLY"} "$@" </dev/null
    status=$?
    read_report
    [ $status -ne 0 ] || [ $finished = no ] || return 0

    case $status in
    124) why="no end after $limit s" ;;
    137) why="killed, or no end after $limit s" ;;
    *) why="the job ended with status $status" ;;
    esac
    result 'not ok' "${running:-"${runner##*/} outside of any test"}" ": $why"
    return 1
}

run_ranks() {
    restarts=0
    set --
    until run_job "$@"; do
        [ -z "${HT_TEST_ONLY:-}" ] || return
        restarts=$((restarts + 1))
        if [ -z "$running" ] || [ $status -eq 124 ] || [ $status -eq 137 ] || [ $restarts -gt $most_restarts ]; then
            echo "# the tests after this one were not run"
            return
        fi
        set -- --after "$running"
    done
}

if ! declared=$("$runner" --ranks); then
    echo "not ok 1 - ${runner##*/} does not start"
    echo "1..1"
    exit
fi
for ranks in $(echo "$declared" | sort -nu); do
    case " ${HT_TEST_RANKS:-$ranks} " in
    *" $ranks "*) run_ranks ;;
    esac
done
echo "1..$count"
