# Lints the English of documents (Markdown), manual pages and the comments in headers: a line for each sentence that breaks a
# rule, FILE:LINE: FAULT. Code and headings are left out; each cell of a table is a sentence.
# With -v messages=1 it lints the string literals of C sources instead, if they have several words. With -v comments=1 it
# lints all comments of C, CUDA, shell, awk and Python files, except for the length of their sentences.
FNR == 1 {
    flush()
    code = 0
    inside = 0
    is_header = FILENAME ~ /\.h$/
    is_page = FILENAME ~ /\.1$/
    is_script = FILENAME ~ /\.(sh|awk|py)$/ || /^#!/
}

messages { literals($0); next }

comments && is_script && /^ *#[^!]/ && !/# shellcheck/ {
    text = $0
    sub(/^ *# ?/, "", text)
    comment(text)
    next
}
comments && is_script { flush(); next }
comments { comments_of($0); next }

is_header && /^ *\/\*/ { flush(); inside = 1 }
is_header && inside {
    text = $0
    sub(/^ *\/?\*+ ?/, "", text)
    ends = sub(/ *\*\/ *$/, "", text)
    comment(text)
    if (ends) { flush(); inside = 0 }
    next
}
is_header { next }

is_page && /^\.(EX|EE|TH|SH|PP|TP)/ { flush(); code = /^\.(EX|TH)/; next }
is_page {
    gsub(/^\.[A-Z]+ |\\|"/, "")
    if (!code) add($0)
    next
}
/^```/ { code = !code; flush(); next }
code || /^    / || /^#/ || /^ *$/ { flush(); next }
/^\|/ {
    gsub(/\\\|/, "/")
    cells = split($0, cell, "|")
    for (c = 2; c < cells; c++) { flush(); in_cell = 1; add(cell[c]) }
    flush()
    next
}
/^ *([-*]|[0-9]+\.) / { flush() }
{ add($0) }
END { flush() }

function add(text) {
    if (paragraph == "") at = FNR
    paragraph = paragraph " " text
    file = FILENAME
}
# A line of a comment; a list and an indented block are paragraphs of their own.
function comment(text) {
    if (text ~ /^    / || text ~ /SPDX/ || text ~ /^ *$/) { flush(); return }
    if (text ~ /^(- |[a-z_0-9][a-z_0-9, ]*: | +[^ ].*[^ .]  +[^ ]|Result:|Errors:|Source:|Collective|Not collective|Logically)/) flush()
    add(text)
}
# The comments in a line of C, without those in its literals.
function comments_of(line,    text) {
    if (!inside) trails = 0
    while (1) {
        if (inside) {
            text = line
            if (match(line, /\*\//)) {
                text = substr(line, 1, RSTART - 1)
                line = substr(line, RSTART + 2)
                inside = 0
            }
            if (!sub(/^ *\*+ ?/, "", text) && trails) sub(/^ +/, "", text)
            comment(text)
            if (inside) return
            flush()
        }
        if (!match(line, /"([^"\\]|\\.)*"|\/\*/)) return
        inside = substr(line, RSTART, 2) == "/*"
        trails = trails || substr(line, 1, RSTART - 1) ~ /[^ ]/
        line = substr(line, RSTART + RLENGTH)
        sub(/^ +/, "", line)
    }
}
# Joins the literals of a line, and of the next ones, while nothing but blanks and PRI names stands between them.
function literals(line,    before) {
    while (inside ? match(line, /\*\//) : match(line, /"([^"\\]|\\.)*"|\/\*/)) {
        before = substr(line, 1, RSTART - 1)
        if (inside) inside = 0
        else {
            gsub(/PRI[a-z0-9]+/, "", before)
            if (before !~ /^[ \t]*$/) flush()
            if (substr(line, RSTART, 2) == "/*") inside = 1
            else message(substr(line, RSTART + 1, RLENGTH - 2))
        }
        line = substr(line, RSTART + RLENGTH)
    }
    if (!inside && line !~ /^[ \t]*$/) flush()
}
function message(text) {
    if (paragraph == "") at = FNR
    paragraph = paragraph text
    file = FILENAME
}
function fault(what, sentence) { print file ":" at ": " what ": " substr(sentence, 1, 70) }
# Joins the lines of a message. One that begins with a blank or a capital is a new sentence.
function unwrap(    count, lines, i) {
    count = split(paragraph, lines, /\\n/)
    paragraph = lines[1]
    for (i = 2; i <= count; i++) paragraph = paragraph (lines[i] ~ /^[ A-Z]/ ? ". " : " ") lines[i]
}
# Words of a sentence, without numbers and the signs of formulas.
function length_of(sentence,    count, words, i, n) {
    count = split(sentence, words, / +/)
    for (i = 1; i <= count; i++) n += words[i] ~ /[A-Za-z][A-Za-z]|^[aA]$/
    return n
}
function flush(    count, sentences, parts, i, j, n) {
    if (messages) unwrap()
    if (paragraph !~ / /) { paragraph = ""; return }
    gsub(/`[^`]*`/, "CODE", paragraph)
    gsub(/\[[^]]*\]\([^)]*\)/, "LINK", paragraph)
    sub(/^ +[-*] +/, " ", paragraph)
    count = split(paragraph, sentences, /[.?!] +/)
    for (i = 1; i <= count; i++) {
        n = split(sentences[i], parts, /[:;] +/)
        for (j = 1; j <= n; j++) judge(parts[j])
        sub(/^[ *(-]+/, "", sentences[i])
        if (!in_cell && !comments && length_of(sentences[i]) > 30) fault("over 30 words", sentences[i])
    }
    paragraph = ""
    in_cell = 0
}
function judge(part) {
    sub(/^[ *(-]+/, "", part)
    if (part ~ /^(What|Who|Whoever|Of|Into) /) fault("opens badly", part)
    if (part ~ /, as (it|they|he|there|nobody|nothing|(each|every|no|all) ranks?) /) fault("\", as\"", part)
    if (part ~ /(^| )(is|are|was|were) no / && part !~ /(^| )[Tt]here (is|are|was|were) no /) fault("\"is no\"", part)
    if (part ~ /(^| )[Ww]hat (is|are|was|were) /) fault("\"what is\"", part)
    if (comments && tolower(part) ~ /(^| )(so many|equally many|wholly)([^a-z]|$)/) fault("not plain", part)
    if (part ~ / / && tolower(part) ~ /(^| )(anew|alike|besides?|any more|foretells?|nobody|somebody|whoever)([^a-z]|$)/ || part ~ / as there($|[,)])/) fault("not plain", part)
}
