#!/bin/sh
# Random programs beside plain references, on 1, 2 and 3 ranks: tests/fuzz/main.c.
#   HT_FUZZ_SECONDS  for each rank count [25; in check-long 1200]
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
    case_options=$(cat "$folder/fuzz.case")
    echo "# the case that did not end: $1 ranks, fuzz $case_options --cases 1"
    limit=100
    # shellcheck disable=SC2086 # these are words
    launch "$1" "$program" --folder "$folder" $case_options --cases 1 --trace
    sed 's/^/# /' "$job_err" | tail -n 60
    limit=$((seconds + 200))
}

for ranks in 1 2 3; do
    case " ${HT_TEST_RANKS:-$ranks} " in
    *" $ranks "*) ;;
    *) continue ;;
    esac
    launch "$ranks" "$program" --folder "$folder" --seconds "$seconds" --seed "$seed"
    sed 's/^/# /' "$job_out"
    if [ $status -eq 0 ]; then
        result ok "random programs [ranks $ranks]"
    else
        result 'not ok' "random programs [ranks $ranks]: status $status"
        sed 's/^/# /' "$job_err"
        grep -q ' cases, ' "$job_out" || again "$ranks"
    fi
done
rm -rf "$folder"
finish
