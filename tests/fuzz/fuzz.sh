#!/bin/sh
# Random programs of all families compared with plain references (tests/fuzz/main.c): on the host on 1, 2 and 3 ranks,
# then on the lagging device (tests/backends/lagging) on 1 and 2 ranks. There, copies to the host arrive at once in one
# run, and only with a wait in the other.
#   HT_FUZZ_SECONDS  for each rank count [25; in check-long 1200]; a third of it for each of the four on the device
#   HT_FUZZ_SEED     where seeds begin [1; in check-long the day's]
set -u

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
program=tests/fuzz/fuzz
seconds=${HT_FUZZ_SECONDS:-$([ "${HT_TEST_LONG:-0}" = 1 ] && echo 1200 || echo 25)}
seed=${HT_FUZZ_SEED:-$([ "${HT_TEST_LONG:-0}" = 1 ] && date +%Y%m%d000000 || echo 1)}
limit=$((seconds + 200))
folder=fuzz.$$
mkdir -p "$folder"
HT_TIMEOUT=60
export HT_TIMEOUT
# A language with a decimal comma, where there are tools to make it.
if localedef -i de_DE -f UTF-8 "$folder/de_DE.UTF-8" >/dev/null 2>&1; then
    LOCPATH=$(pwd)/$folder
    export LOCPATH
fi

# One that did not come to its end: which case it was, and how far that comes when it runs alone.
again() {
    ranks=$1
    shift
    case_options=$(cat "$folder/fuzz.case")
    echo "# the case that did not end: $ranks ranks, fuzz $* $case_options --cases 1"
    limit=100
    # shellcheck disable=SC2086 # these are words
    launch "$ranks" "$program" --folder "$folder" "$@" $case_options --cases 1 --trace
    sed 's/^/# /' "$job_err" | tail -n 60
    limit=$((seconds + 200))
}

# random "name" RANKS OPTION...: $seconds long.
random() {
    name=$1
    shift
    for_ranks=$1
    shift
    case " ${HT_TEST_RANKS:-$for_ranks} " in
    *" $for_ranks "*) ;;
    *) return ;;
    esac
    launch "$for_ranks" "$program" --folder "$folder" "$@" --seconds "$seconds" --seed "$seed"
    sed 's/^/# /' "$job_out"
    if [ $status -eq 0 ]; then
        result ok "$name [ranks $for_ranks]"
    else
        result 'not ok' "$name [ranks $for_ranks]: status $status"
        sed 's/^/# /' "$job_err"
        grep -q ' cases, ' "$job_out" || again "$for_ranks" "$@"
    fi
}

for ranks in 1 2 3; do
    random 'random programs' $ranks
done
seconds=$((seconds / 3))
for LAG_COPIES in now late; do
    export LAG_COPIES
    for ranks in 1 2; do
        random "random programs on a device that lags, copies $LAG_COPIES" $ranks --device lag:0
    done
done
rm -rf "$folder"
finish
