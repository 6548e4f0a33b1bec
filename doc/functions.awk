# awk -f functions.awk include/ht/*.h: a record for each public function, for scripts that make pages of them or check their
# comments. Records end with a form feed, fields with a unit separator: header, line, name, prototype, the comment right before the
# prototype (empty: none), the comment that opens the header. A static inline function has a record if it has a comment; without
# one it is a part of a macro. A comment that begins with `HT_NAME(parameters): ` is that of a macro, wherever it stands.

function reset() { block = opening = ""; inside = ended = 0; line = 0 }
FNR == 1 { reset() }

/^ *\/\*/ { inside = 1; block = "" }
inside {
    text = $0
    sub(/^ *\/?\*+ ?/, "", text)
    if (sub(/ *\*\/ *$/, "", text) || sub(/^\/$/, "", text)) {
        inside = 0
        ended = FNR
    }
    if (text !~ /SPDX-License/) block = block text "\n"
    if (!inside && opening == "") opening = block
    if (!inside && match(block, /^HT_[A-Z_]+\([^)]*\): /)) {
        prototype = substr(block, 1, RLENGTH - 2)
        comment = substr(block, RLENGTH + 1)
        record(FNR, substr(prototype, 1, index(prototype, "(") - 1))
    }
    next
}

/^HT_API/ || (/^static inline/ && ended == FNR - 1) {
    line = FNR
    prototype = ""
    comment = ended == FNR - 1 ? block : ""
}
/^{/ && line { prototype = prototype ";" }
line {
    code = $0
    sub(/ *\/\*.*/, "", code)
    sub(/^(HT_API|static inline) +/, "", code)
    sub(/^{.*/, "", code)
    sub(/^ +/, "", code)
    prototype = prototype (prototype == "" || code == "" ? "" : " ") code
    if (prototype ~ /;/) {
        if (prototype ~ /\(/ && prototype !~ /^extern/) {
            name = prototype
            gsub(/HT_[A-Z_]+\([^)]*\)/, "", name)
            sub(/\(.*/, "", name)
            sub(/.*[ *]/, "", name)
            record(line, name)
        }
        line = 0
    }
}

function record(at, name) {
    printf "%s\037%d\037%s\037%s\037%s\037%s\f", FILENAME, at, name, prototype, comment, opening
}
