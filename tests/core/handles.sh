#!/bin/sh
# The library with checks names the line that ended the life of a handle which is used after it.
set -u

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
[ "${CHECKED:-yes}" = yes ] || skip_all 'no library with checks (--disable-debug-library)'
program=tests/core/handles
source=${srcdir:-.}/tests/core/handles.c

command -v addr2line >/dev/null || skip_all 'no addr2line'
case $(addr2line -e "$program" "0x$(nm "$program" | sed -n 's/ T main$//p')") in
*:[1-9]*) ;;
*) skip_all 'compiled without line numbers (CFLAGS lack -g)' ;;
esac

# at MARK: handles.c and the line with this comment.
at() {
    echo "handles.c:$(grep -n "/\* $1 \*/" "$source" | cut -d : -f 1)"
}

# gone HOW MARK TEXT: the job ends with the text and the place.
gone() {
    launch 1 "$program" "$1"
    said=$(sed -n 's/ at [^ ]*handles.c/ at handles.c/; s/^ht: //p' "$job_err")
    if [ $status -eq 1 ] && [ "$said" = "$3 at $(at "gone: $2")" ]; then
        result ok "$1: $3"
    else
        result 'not ok' "$1: $3: status $status"
        sed 's/^/# /' "$job_err"
    fi
}

gone operand closed 'ht_add: b is a tensor that no longer exists: its scope was closed'
gone attribute closed 'ht_tensor_shape: x is a tensor that no longer exists: its scope was closed'
gone sent closed 'ht_bcast: buffer is a tensor that no longer exists: its scope was closed'
gone value closed 'ht_value_get: map is a value that no longer exists: its scope was closed'
gone 'retained late' closed 'ht_retain: object is a tensor that no longer exists: its scope was closed'
gone returned returned 'ht_add: b is a tensor that no longer exists: its scope was closed'
gone scoped scoped 'ht_scope_close: what the scope holds is a tensor that no longer exists: it was released'
gone twice released 'ht_release: object is a module that no longer exists: it was released'
gone forward released 'ht_forward: module is a module that no longer exists: it was released'
gone walk released 'ht_module_parameters: module is a module that no longer exists: it was released'
gone borrowed released 'ht_tensor_size: x is a tensor that no longer exists: it was released'
succeeds 'what is right passes' 2 env HT_LEAK_CHECK=1 "$program" well

launch 1 env HT_LOG=debug "$program" 'left open'
if [ $status -eq 0 ] && grep -q "an inner scope, opened at .*$(at 'left open'), was left open and is closed now" "$job_err"; then
    result ok 'a scope that is left open is named'
else
    result 'not ok' "a scope that is left open is named: status $status"
    sed 's/^/# /' "$job_err"
fi
finish
