# shellcheck shell=sh
# Sourced by scripts that launch jobs: their results as TAP, and what a job that fails has to say.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
limit=300 # seconds that a job may take: longer than any that is all right, on any machine
job_out=job.$$.out
job_err=job.$$.err # of this script alone, because other scripts run at the same time

# launch RANKS COMMAND... Sets $status, and whether the limit ended it, which status 137 leaves open.
launch() {
    ranks=$1
    shift
    timeout --verbose --kill-after=2 $limit "${MPIRUN:-mpirun}" -n "$ranks" "$@" </dev/null >"$job_out" 2>"$job_err"
    status=$?
    timed_out=no
    ! grep -q '^timeout: sending signal' "$job_err" || timed_out=yes
}

# succeeds "name" RANKS COMMAND...
succeeds() {
    name=$1
    shift
    launch "$@"
    if [ $status -eq 0 ]; then
        result ok "$name"
    else
        result 'not ok' "$name: status $status"
        sed 's/^/# /' "$job_err"
    fi
}

# says "name" "line" RANKS COMMAND...: the job ends by itself with status 1, and what libht prints
# are these lines, in any order. Without places in the program's code and numbers of calls.
says() {
    name=$1
    expected=$2
    shift 2
    launch "$@"
    found=$(sed -n '/^ht: /{
        s/; rank [0-9]* at [^ ]*, rank [0-9]* at [^ )]*//
        s/ (call [0-9]* on/ (call N on/
        s/ (its operation [0-9]*, here [0-9]*)//g
        s/, after [0-9]* operations of [0-9]*//g
        p
    }' "$job_err" | sort)
    if [ "$found" = "$expected" ] && [ $status -eq 1 ]; then
        result ok "$name"
    else
        result 'not ok' "$name: status $status"
        sed 's/^/# /' "$job_err"
    fi
}

# background RANKS COMMAND...: as launch, and the script goes on meanwhile. Its process is $!.
background() {
    ranks=$1
    shift
    : >"$job_out"
    : >"$job_err"
    timeout --kill-after=2 $limit "${MPIRUN:-mpirun}" -n "$ranks" "$@" </dev/null >"$job_out" 2>"$job_err" &
}

# within_limit COMMAND...: waits until it succeeds; false if it does not in time.
within_limit() {
    tries=0
    until "$@"; do
        [ $tries -lt $((10 * limit)) ] || return 1
        tries=$((tries + 1))
        sleep 0.1
    done
}

# printed N TEXT FILE: that many lines have the text. Succeeds, too, when process $! has ended.
printed() {
    [ "$(grep -c -e "$2" "$3")" -ge "$1" ] || ! kill -0 $! 2>/dev/null
}

# skip_all "why": this script has nothing to test here.
skip_all() {
    rm -f "$job_out" "$job_err"
    echo "1..0 # SKIP $1"
    exit 0
}

finish() {
    rm -f "$job_out" "$job_err"
    plan
}
