# One program per hot path. They are built by `make bench`, not by `make`.
