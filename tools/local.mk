# Installed programs.
