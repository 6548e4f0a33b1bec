# shellcheck shell=sh
# Sourced by scripts that are tests: their results as TAP.
count=0

# result "ok" or "not ok", name
result() {
    count=$((count + 1))
    echo "$1 $count - $2"
}

# check NAME COMMAND...: passes if the command does.
check() {
    name=$1
    shift
    if "$@"; then
        result ok "$name"
    else
        result 'not ok' "$name"
    fi
}

# The last line of a test.
plan() {
    echo "1..$count"
}
