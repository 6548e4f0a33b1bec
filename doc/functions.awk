# awk -f functions.awk include/ht/*.h: a record for each public function, for those who make pages of them or check their comments.
# Records end with a form feed; their fields are parted by unit separators: header, line, name, prototype, the comment that stands
# right before the prototype (empty: none), the comment that opens the header.

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
    next
}

/^HT_API/ {
    line = FNR
    prototype = ""
    comment = ended == FNR - 1 ? block : ""
}
line {
    code = $0
    sub(/ *\/\*.*/, "", code)
    sub(/^HT_API +/, "", code)
    sub(/^ +/, "", code)
    prototype = prototype (prototype == "" ? "" : " ") code
    if (code ~ /;/) {
        if (prototype ~ /\(/ && prototype !~ /^extern/) {
            name = prototype
            gsub(/HT_[A-Z_]+\([^)]*\)/, "", name)
            sub(/\(.*/, "", name)
            sub(/.*[ *]/, "", name)
            printf "%s\037%d\037%s\037%s\037%s\037%s\f", FILENAME, line, name, prototype, comment, opening
        }
        line = 0
    }
}
