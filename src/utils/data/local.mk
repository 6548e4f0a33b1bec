# Datasets, samplers, loaders and HDF5 readers.
