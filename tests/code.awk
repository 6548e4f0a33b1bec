# C without its comments and without what strings hold: names that are left are used.
# SPDX-License-Identifier: MIT
function next_mark(text) {
    return match(text, /\/\*|\/\/|"|'/)
}

FNR == 1 { commented = 0 }

{
    rest = $0
    code = ""
    while (rest != "") {
        if (commented) {
            if (!match(rest, /\*\//))
                break
            rest = substr(rest, RSTART + 2)
            commented = 0
        } else if (!next_mark(rest)) {
            code = code rest
            break
        } else {
            mark = substr(rest, RSTART, RLENGTH)
            code = code substr(rest, 1, RSTART - 1) " "
            rest = substr(rest, RSTART + RLENGTH)
            if (mark == "//")
                break
            if (mark == "/*")
                commented = 1
            else if (match(rest, mark == "\"" ? "^([^\"\\\\]|\\\\.)*\"" : "^([^'\\\\]|\\\\.)*'"))
                rest = substr(rest, RLENGTH + 1)
        }
    }
    print code
}
