# shellcheck shell=sh
# Sourced by scripts that run the suite's runners on the device HT_TEST_DEVICE.
count=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# renumber HOW: numbers the results of a runner on.
renumber() {
    while IFS= read -r line; do
        case $line in
        'ok '* | 'not ok '*)
            count=$((count + 1))
            echo "${line%%ok *}ok $count - $1, ${line#*- }"
            ;;
        1..*) ;;
        *) echo "$line" ;;
        esac
    done
    echo "$count" >"$work/count"
}

# run RUNNER HOW
run() {
    sh "${srcdir:-.}/tests/mpi-run.sh" "$1" >"$work/tap" 2>>"$work/log" || echo "# $1 ended early"
    renumber "$2" <"$work/tap"
    count=$(cat "$work/count")
}

# The plan, and the reason if no test ran.
end_of_runs() {
    [ "$count" -gt 0 ] || cat "$work/log"
    echo "1..$count"
}
