#!/bin/sh
# Arrows of use point down only, and outside libraries are called where doc/design.md says: by the symbols of the
# objects and by the includes of the sources. The order of the rooms, and which headers are for others, is read from
# that document.
set -u
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The list of doc/design.md: each room once, from the lowest up, and its headers for other rooms, "room header". A
# folder also represents the folders inside it that have no line.
awk -v headers="$work/headers" '
    !/^ /     { room = "" }
    /^    src/ { room = $1; floors[++n] = room }
    room != "" { for (i = 1; i <= NF; i++) if ($i ~ /\.h$/) print room, room "/" $i >headers }
    END        { while (n > 0) print floors[n--] }' "${srcdir:-.}/doc/design.md" >"$work/floors"

# A line for each symbol that an object defines or uses: its folder, the type, the symbol.
find src -name '*.o' -exec nm -A {} + 2>/dev/null |
    sed -n 's|/[^/]*\.o:[0-9a-f ]* \([A-Za-z]\) | \1 |p' | sed 's|/\.libs | |; s|  *| |g' |
    sort -u >"$work/symbols"

# A line for each include of one source by another: its folder, the file, what it includes.
(cd "${srcdir:-.}" && find src -name '*.[ch]' -exec grep -HE '^ *# *include "(core|backends|nn|optim|utils)/' {} +) |
    sed 's|^\(.*\)/\([^/]*\.[ch]\): *# *include "\([^"]*\)".*|\1 \1/\2 src/\3|' | sort -u >"$work/includes"

# The same for each source file, instead of its folder.
find src -name '*.o' -exec nm -A {} + 2>/dev/null |
    sed -n 's|\.o:[0-9a-f ]* \([A-Za-z]\) | \1 |p' | sed 's|/\.libs/|/|; s|/[a-z0-9_]*_la-|/|; s|  *| |g' |
    sort -u >"$work/files"

# For awk: the room of a folder or file.
room='function room(path) {
          while (!(path in floor) && sub("/[^/]*$", "", path)) ;
          return path
      }'

every_folder_has_a_floor() {
    awk "$room"' NR == FNR { floor[$1]; next }
         room($1) == "" || !(room($1) in floor) { if (!($1 in said)) print "# " $1; said[$1]; bad = 1 }
         END { exit bad }' "$work/floors" "$work/symbols" && [ -s "$work/symbols" ]
}

every_room_is_there() {
    rooms=0
    while read -r floor; do
        [ -d "${srcdir:-.}/$floor" ] || { echo "# $floor"; return 1; }
        rooms=$((rooms + 1))
    done <"$work/floors"
    [ "$rooms" -gt 20 ] && [ -z "$(sort "$work/floors" | uniq -d)" ]
}

no_arrow_points_up() {
    awk "$room"' FNR == 1 { pass++ }
         pass == 1 { floor[$1] = FNR; next }
         pass == 2 { if (index("TDBR", $2) && $3 ~ /^ht_/) home[$3] = floor[room($1)]; next }
         $2 == "U" && $3 in home { arrows++; if (floor[room($1)] < home[$3]) { print "# " $1 " uses " $3; bad = 1 } }
         END { exit bad || arrows < 1000 }' "$work/floors" "$work/symbols" "$work/symbols"
}

no_include_points_up() {
    awk "$room"' NR == FNR { floor[$1] = FNR; next }
         { arrows++; if (floor[room($1)] < floor[room($3)]) { print "# " $2 " includes " $3; bad = 1 } }
         END { exit bad || arrows < 500 }' "$work/floors" "$work/includes"
}

# And each header that is named is there, and included by another room.
internal_headers_stay_inside() {
    awk "$room"' FNR == 1 { pass++ }
         pass == 1 { floor[$1] = FNR; next }
         pass == 2 { open[$2]; next }
         room($1) != room($3) { used[$3]; if (!($3 in open)) { print "# " $2 " includes " $3; bad = 1 } }
         END { for (header in open) if (!(header in used)) { print "# nobody includes " header; bad = 1 }
               exit bad }' "$work/floors" "$work/headers" "$work/includes"
}

# Circles of source files: each file of one uses, over the others, a symbol of each. The object of a file shows which
# symbols it defines and uses. Headers do not count: they declare what sources define, and the rooms of their includes
# are checked above. A line for each circle: how many files, and which.
find_circles() {
    awk 'function visit(file, used, n, i, other, list, count) {
             number[file] = lowest[file] = ++last
             stack[++depth] = file
             open[file]
             n = file in uses ? split(uses[file], used, " ") : 0
             for (i = 1; i <= n; i++) {
                 other = used[i]
                 if (!(other in number)) {
                     visit(other)
                     if (lowest[other] < lowest[file]) lowest[file] = lowest[other]
                 } else if (other in open && number[other] < lowest[file]) {
                     lowest[file] = number[other]
                 }
             }
             if (lowest[file] < number[file]) return
             do {
                 other = stack[depth--]
                 delete open[other]
                 list = list " " other
                 count++
             } while (other != file)
             if (count > 1) print count list
         }
         FNR == 1 { pass++ }
         pass == 1 { if (index("TDBR", $2) && $3 ~ /^ht_/) home[$3] = $1; next }
         $2 == "U" && $3 in home && home[$3] != $1 { uses[$1] = uses[$1] " " home[$3] }
         END { for (file in uses) if (!(file in number)) visit(file) }' "$work/files" "$work/files"
}

source_files_form_no_circle() {
    find_circles >"$work/circles"
    sed 's/^/# a circle: /' "$work/circles"
    [ ! -s "$work/circles" ] && [ "$(wc -l <"$work/files")" -gt 1000 ]
}

# called_in PATTERN FOLDER...: outside functions of that name, as a regular expression, are called there alone.
called_in() {
    pattern=$1
    shift
    awk -v pattern="$pattern" -v folders=" $* " '$2 == "U" && $3 ~ pattern { calls++
             if (!index(folders, " " $1 " ")) { print "# " $1 " calls " $3; bad = 1 } }
         END { exit bad || !calls }' "$work/symbols"
}

folders_are_small() {
    (cd "${srcdir:-.}" && find src -name '*.[ch]' -o -name '*.cu') | sed 's|/[^/]*$||' | sort | uniq -c |
        awk '{ folders++; if ($1 > 25) { print "# " $2 " has " $1 " sources"; bad = 1 } } END { exit bad || folders < 40 }'
}

files_are_short() {
    (cd "${srcdir:-.}" && find src \( -name '*.[ch]' -o -name '*.cu' \) -exec awk '
         FNR > 400 && !said[FILENAME]++ { print "# " FILENAME; bad = 1 }
         END { exit bad || NR < 1000 }' {} +)
}

check 'every folder has a floor' every_folder_has_a_floor
check 'every room of doc/design.md is there once' every_room_is_there
check 'no arrow points up' no_arrow_points_up
check 'no include points up' no_include_points_up
check 'internal headers are included in their room alone' internal_headers_stay_inside
check 'source files form no circle' source_files_form_no_circle
check 'no folder of src has over 25 sources' folders_are_small
check 'no source has over 400 lines' files_are_short
check 'MPI is called in comm, exchange, collective and start' called_in '^MPI_([A-EG-Z]|F[^i])' \
    src/core/comm src/core/exchange src/core/collective src/core/start
check "MPI's files are opened in io/hdf5" called_in '^MPI_File_' src/core/io/hdf5
check 'HDF5 is called in io/hdf5, io/checkpoint and utils/data' called_in '^H5[A-Z]' \
    src/core/io/hdf5 src/core/io/checkpoint src/utils/data
check 'BLAS is called in backends/cpu' called_in '^cblas_' src/backends/cpu/linalg src/backends/cpu/nn src/backends/cpu/nn/conv
plan
