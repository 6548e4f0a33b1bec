#!/bin/sh
# usage: links.sh FOLDER
# Fails, and names them, if links between the Markdown pages in this folder lead nowhere.
set -eu
cd "$1"

find . -name '*.md' | while read -r page; do
    grep -oE '\]\([^)# ]+' "$page" | cut -c3- | grep -v '://' | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || echo "$page: there is no $link"
    done
done | sort -u | if grep .; then exit 1; fi
