#!/bin/sh
# Makes configure and Makefile.in from configure.ac and Makefile.am; for checkouts, not for releases.
set -e
cd "$(dirname "$0")"
mkdir -p build-aux
exec autoreconf --install --warnings=all,no-obsolete "$@"
