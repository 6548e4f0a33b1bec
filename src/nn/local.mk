# Modules, losses, initialisation, and the data-parallel wrappers.
