# Checks the records of doc/functions.awk, and prints a line for each fault: HEADER:LINE: FUNCTION: what is wrong. The grammar is in
# CONTRIBUTING.md, "A doc comment".
BEGIN { RS = "\f"; FS = "\037" }

function fault(what) { print $1 ":" $2 ": " $3 ": " what }

# The names of the parameters of a prototype, in names[]; returns how many.
function parameters(prototype, names,    count, list, i, n, word) {
    gsub(/HT_[A-Z_]+\([^)]*\)/, "", prototype) # HT_PRINTF(2, 3)
    sub(/^[^(]*\(/, "", prototype)
    sub(/\)[^)]*;.*$/, "", prototype)
    count = split(prototype, list, ",")
    for (i = 1; i <= count; i++) {
        word = list[i]
        gsub(/\[[^\]]*\]|\)\(.*/, "", word)
        sub(/ *$/, "", word)
        sub(/.*[ *]/, "", word)
        gsub(/[()]/, "", word)
        if (word != "void" && word != "..." && word != "") names[++n] = word
    }
    return n
}

{
    if ($5 == "") { fault("has no comment of its own right before it"); next }
    n = parameters($4, names)
    for (i = 1; i <= n; i++) {
        if ($5 !~ ("(^|[^a-z_0-9])" names[i] "($|[^a-z_0-9])")) fault("the comment does not name " names[i])
    }
    if ($5 !~ /[Cc]ollective/ && $6 !~ /[Cc]ollective/) fault("neither its comment nor the top of the header says if it is collective")
    if ($5 !~ /\./) fault("the comment has no sentence")
}
