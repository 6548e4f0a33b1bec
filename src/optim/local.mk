# Optimizers and schedulers.
