# One runner for each folder of tests; `make check` launches it once for each rank count.
#   A test file:          a line in core_tests, nn_tests, … below; its first line names its ranks.
#   A test of its own:    a script that prints TAP, in test_scripts (or long_scripts), for what must
#                         start or end jobs itself; programs that it launches go to test_programs.

core_tests = \
	tests/backends/cpu/test_cpu_attention.c \
	tests/backends/cpu/test_cpu_binary.c \
	tests/backends/cpu/test_cpu_blas_core.c \
	tests/backends/cpu/test_cpu_cell.c \
	tests/backends/cpu/test_cpu_conv.c \
	tests/backends/cpu/test_cpu_ctc.c \
	tests/backends/cpu/test_cpu_elementwise.c \
	tests/backends/cpu/test_cpu_fft.c \
	tests/backends/cpu/test_cpu_float_math.c \
	tests/backends/cpu/test_cpu_gemm.c \
	tests/backends/cpu/test_cpu_norm.c \
	tests/backends/cpu/test_cpu_pool.c \
	tests/backends/cpu/test_cpu_random.c \
	tests/backends/cpu/test_cpu_reduce.c \
	tests/backends/cpu/test_cpu_resample.c \
	tests/backends/cpu/test_cpu_row_norm.c \
	tests/backends/cpu/test_cpu_rows.c \
	tests/backends/cpu/test_cpu_slope.c \
	tests/backends/cpu/test_cpu_update.c \
	tests/backends/cuda/test_cuda_attention.c \
	tests/backends/cuda/test_cuda_complex.c \
	tests/backends/cuda/test_cuda_conv.c \
	tests/backends/cuda/test_cuda_ctc.c \
	tests/backends/cuda/test_cuda_device.c \
	tests/backends/cuda/test_cuda_elementwise.c \
	tests/backends/cuda/test_cuda_fault.c \
	tests/backends/cuda/test_cuda_index.c \
	tests/backends/cuda/test_cuda_library.c \
	tests/backends/cuda/test_cuda_memory.c \
	tests/backends/cuda/test_cuda_norm.c \
	tests/backends/cuda/test_cuda_reduce.c \
	tests/backends/cuda/test_cuda_rows.c \
	tests/backends/cuda/test_cuda_share.c \
	tests/backends/cuda/test_cuda_staging.c \
	tests/backends/cuda/test_cuda_update.c \
	tests/core/algorithms/factor/test_decompositions.c \
	tests/core/algorithms/factor/test_solvers.c \
	tests/core/algorithms/fft/test_fft.c \
	tests/core/algorithms/fft/test_fft_frequencies.c \
	tests/core/algorithms/order/test_bins.c \
	tests/core/algorithms/order/test_histogram.c \
	tests/core/algorithms/order/test_quantile.c \
	tests/core/algorithms/order/test_sort.c \
	tests/core/algorithms/order/test_unique.c \
	tests/core/algorithms/parts/test_halo.c \
	tests/core/algorithms/parts/test_partitioned.c \
	tests/core/algorithms/parts/test_permutation.c \
	tests/core/algorithms/parts/test_tiling.c \
	tests/core/algorithms/parts/test_vmap.c \
	tests/core/algorithms/product/test_covariance.c \
	tests/core/algorithms/product/test_distance.c \
	tests/core/algorithms/product/test_linalg.c \
	tests/core/algorithms/product/test_matmul.c \
	tests/core/algorithms/product/test_norms.c \
	tests/core/algorithms/product/test_vector_products.c \
	tests/core/algorithms/spectral/test_iterative.c \
	tests/core/algorithms/spectral/test_spectra.c \
	tests/core/algorithms/spectral/test_svd_ranks.c \
	tests/core/algorithms/spectral/test_truncated.c \
	tests/core/algorithms/test_owned.c \
	tests/core/algorithms/test_peaks.c \
	tests/core/algorithms/test_results.c \
	tests/core/algorithms/test_scales.c \
	tests/core/autograd/test_abandon.c \
	tests/core/autograd/test_anomaly.c \
	tests/core/autograd/test_autograd.c \
	tests/core/autograd/test_autograd_complex.c \
	tests/core/autograd/test_backward_observer.c \
	tests/core/autograd/test_gradcheck.c \
	tests/core/autograd/test_recompute.c \
	tests/core/base/test_called_names.c \
	tests/core/base/test_environment.c \
	tests/core/base/test_log.c \
	tests/core/base/test_memory.c \
	tests/core/base/test_numbers.c \
	tests/core/base/test_scope.c \
	tests/core/base/test_version.c \
	tests/core/collective/test_agrees.c \
	tests/core/collective/test_arguments.c \
	tests/core/collective/test_collective.c \
	tests/core/collective/test_deals.c \
	tests/core/collective/test_flat_memory.c \
	tests/core/collective/test_gather.c \
	tests/core/collective/test_huge.c \
	tests/core/collective/test_posted.c \
	tests/core/collective/test_sends.c \
	tests/core/collective/test_waitless.c \
	tests/core/comm/test_comm.c \
	tests/core/comm/test_raise.c \
	tests/core/comm/test_topology_map.c \
	tests/core/comm/test_wait.c \
	tests/core/device/test_copy_between.c \
	tests/core/device/test_device.c \
	tests/core/device/test_lagging.c \
	tests/core/device/test_near_device.c \
	tests/core/device/test_side_copy.c \
	tests/core/exchange/test_exchange.c \
	tests/core/exchange/test_exchange_halves.c \
	tests/core/exchange/test_exchange_nodes.c \
	tests/core/exchange/test_exchange_thread.c \
	tests/core/exchange/test_link.c \
	tests/core/io/checkpoint/test_checkpoint.c \
	tests/core/io/checkpoint/test_checkpoint_place.c \
	tests/core/io/checkpoint/test_checkpoint_walk.c \
	tests/core/io/csv/test_csv.c \
	tests/core/io/hdf5/test_hdf5.c \
	tests/core/io/hdf5/test_hdf5_damaged.c \
	tests/core/io/npy/test_npy.c \
	tests/core/io/safetensors/test_json.c \
	tests/core/io/safetensors/test_safetensors.c \
	tests/core/io/safetensors/test_safetensors_damaged.c \
	tests/core/io/test_agrees_files.c \
	tests/core/io/test_graph_dot.c \
	tests/core/io/test_load.c \
	tests/core/ops/creation/test_places.c \
	tests/core/ops/creation/test_random.c \
	tests/core/ops/creation/test_scalar.c \
	tests/core/ops/elementwise/test_arithmetics.c \
	tests/core/ops/elementwise/test_binary.c \
	tests/core/ops/elementwise/test_binary_in_place.c \
	tests/core/ops/elementwise/test_elementwise.c \
	tests/core/ops/elementwise/test_logical.c \
	tests/core/ops/elementwise/test_rounding.c \
	tests/core/ops/elementwise/test_where.c \
	tests/core/ops/indexing/test_getitem.c \
	tests/core/ops/indexing/test_getitem_rows.c \
	tests/core/ops/layout/test_manipulations.c \
	tests/core/ops/layout/test_rearrange.c \
	tests/core/ops/layout/test_redistribute.c \
	tests/core/ops/layout/test_to_array.c \
	tests/core/ops/reductions/test_cumprod.c \
	tests/core/ops/reductions/test_moments.c \
	tests/core/ops/reductions/test_reduce.c \
	tests/core/ops/reductions/test_reduce_ext.c \
	tests/core/ops/reductions/test_sums.c \
	tests/core/ops/test_printing.c \
	tests/core/ops/test_types.c \
	tests/core/tensor/test_check.c \
	tests/core/tensor/test_dlpack.c \
	tests/core/tensor/test_factories.c \
	tests/core/tensor/test_history.c \
	tests/core/tensor/test_inplace.c \
	tests/core/tensor/test_layout.c \
	tests/core/tensor/test_move.c \
	tests/core/tensor/test_node.c \
	tests/core/tensor/test_storage.c \
	tests/core/tensor/test_value.c \
	tests/core/timeline/test_timeline.c

nn_tests = \
	tests/nn/functional/attention/test_scaled_dot_product.c \
	tests/nn/functional/test_deferred_errors.c \
	tests/nn/functional/test_device_faults.c \
	tests/nn/functional/test_functional.c \
	tests/nn/functional/test_functional_grad.c \
	tests/nn/functional/test_functionals.c \
	tests/nn/functional/test_golden.c \
	tests/nn/functional/test_golden_activations.c \
	tests/nn/functional/test_golden_ctc.c \
	tests/nn/functional/test_golden_losses.c \
	tests/nn/functional/test_golden_recurrent.c \
	tests/nn/functional/test_limits.c \
	tests/nn/functional/test_null_operands.c \
	tests/nn/functional/test_operands.c \
	tests/nn/functional/test_owned_functional.c \
	tests/nn/functional/test_window.c \
	tests/nn/functional/window/test_pooling.c \
	tests/nn/layers/attention/test_attention_errors.c \
	tests/nn/layers/attention/test_attention_layers.c \
	tests/nn/layers/attention/test_golden_attention.c \
	tests/nn/layers/containers/test_averaged_model.c \
	tests/nn/layers/containers/test_containers.c \
	tests/nn/layers/containers/test_recomputed.c \
	tests/nn/layers/containers/test_recomputed_told.c \
	tests/nn/layers/containers/test_recomputed_waits.c \
	tests/nn/layers/embedding/test_embedding.c \
	tests/nn/layers/norm/test_fuse.c \
	tests/nn/layers/norm/test_norm_layers.c \
	tests/nn/layers/parametrizations/test_orthogonal.c \
	tests/nn/layers/parametrizations/test_parametrizations.c \
	tests/nn/layers/recurrent/test_recurrent_layers.c \
	tests/nn/layers/shape/test_shape_layers.c \
	tests/nn/layers/window/test_window_layers.c \
	tests/nn/layers/test_activation.c \
	tests/nn/layers/test_adaptive_log_softmax.c \
	tests/nn/layers/test_batch_norm.c \
	tests/nn/layers/test_dropout_family.c \
	tests/nn/layers/test_layers.c \
	tests/nn/layers/test_split_batches.c \
	tests/nn/layers/test_sync_batch_norm.c \
	tests/nn/module/hooks/test_backward_hooks.c \
	tests/nn/module/hooks/test_state_hooks.c \
	tests/nn/module/parametrize/test_parametrize.c \
	tests/nn/module/test_called_names_of_modules.c \
	tests/nn/module/test_extra_state.c \
	tests/nn/module/test_forward.c \
	tests/nn/module/test_forward_observer.c \
	tests/nn/module/test_init.c \
	tests/nn/module/test_module.c \
	tests/nn/module/test_module_guard.c \
	tests/nn/module/test_module_load.c \
	tests/nn/module/test_module_null.c \
	tests/nn/module/test_module_safetensors.c \
	tests/nn/module/test_module_settings.c \
	tests/nn/module/test_module_state.c \
	tests/nn/module/test_module_summary.c \
	tests/nn/module/test_tied_states.c \
	tests/nn/module/test_random_state.c \
	tests/nn/step/test_auto_model.c \
	tests/nn/step/test_loss_scaler.c \
	tests/nn/step/test_optim_wrapper.c \
	tests/nn/step/test_train_step.c \
	tests/nn/test_starved.c \
	tests/nn/test_starved_strided.c

parallel_tests = \
	tests/nn/parallel/daso/test_daso.c \
	tests/nn/parallel/daso/test_daso_epochs.c \
	tests/nn/parallel/daso/test_daso_exchange.c \
	tests/nn/parallel/daso/test_daso_failure.c \
	tests/nn/parallel/daso/test_daso_model.c \
	tests/nn/parallel/daso/test_daso_momentum.c \
	tests/nn/parallel/daso/test_daso_schedule.c \
	tests/nn/parallel/daso/test_daso_state.c \
	tests/nn/parallel/daso/test_daso_state_counts.c \
	tests/nn/parallel/daso/test_daso_state_damaged.c \
	tests/nn/parallel/daso/test_hierarchical_averager.c \
	tests/nn/parallel/daso/test_plateau_detector.c \
	tests/nn/parallel/data/hooks/test_comm_hook.c \
	tests/nn/parallel/data/hooks/test_comm_hook_power_sgd.c \
	tests/nn/parallel/data/hooks/test_power_sgd_left_out.c \
	tests/nn/parallel/data/reducer/test_reducer_disjoint.c \
	tests/nn/parallel/data/reducer/test_reducer_order.c \
	tests/nn/parallel/data/reducer/test_reducer_update.c \
	tests/nn/parallel/data/test_data_parallel.c \
	tests/nn/parallel/data/test_data_parallel_accumulate.c \
	tests/nn/parallel/data/test_data_parallel_armed.c \
	tests/nn/parallel/data/test_data_parallel_cnn.c \
	tests/nn/parallel/data/test_data_parallel_device.c \
	tests/nn/parallel/data/test_data_parallel_dropped.c \
	tests/nn/parallel/data/test_data_parallel_errors.c \
	tests/nn/parallel/data/test_data_parallel_faults.c \
	tests/nn/parallel/data/test_data_parallel_groups.c \
	tests/nn/parallel/data/test_data_parallel_join.c \
	tests/nn/parallel/data/test_data_parallel_join_end.c \
	tests/nn/parallel/data/test_data_parallel_join_kept.c \
	tests/nn/parallel/data/test_data_parallel_lessons.c \
	tests/nn/parallel/data/test_data_parallel_link.c \
	tests/nn/parallel/data/test_data_parallel_lstm.c \
	tests/nn/parallel/data/test_data_parallel_meeting.c \
	tests/nn/parallel/data/test_data_parallel_multi_gpu.c \
	tests/nn/parallel/data/test_data_parallel_optimizers.c \
	tests/nn/parallel/data/test_data_parallel_oracle.c \
	tests/nn/parallel/data/test_data_parallel_order.c \
	tests/nn/parallel/data/test_data_parallel_others.c \
	tests/nn/parallel/data/test_data_parallel_overlap.c \
	tests/nn/parallel/data/test_data_parallel_own_updates.c \
	tests/nn/parallel/data/test_data_parallel_parts.c \
	tests/nn/parallel/data/test_data_parallel_separate.c \
	tests/nn/parallel/data/test_data_parallel_several.c \
	tests/nn/parallel/data/test_data_parallel_several_buffers.c \
	tests/nn/parallel/data/test_data_parallel_stop.c \
	tests/nn/parallel/data/test_data_parallel_timeline.c \
	tests/nn/parallel/data/test_data_parallel_told.c \
	tests/nn/parallel/data/test_data_parallel_transformer.c \
	tests/nn/parallel/data/test_data_parallel_unused.c \
	tests/nn/parallel/data/test_data_parallel_weight.c \
	tests/nn/parallel/device/test_device_parallel.c \
	tests/nn/parallel/device/test_device_parallel_copies.c \
	tests/nn/parallel/device/test_device_parallel_parts.c \
	tests/nn/parallel/device/test_device_parallel_random.c

optim_tests = \
	tests/optim/schedules/test_momentum.c \
	tests/optim/schedules/test_nested_schedules.c \
	tests/optim/schedules/test_refused_rates.c \
	tests/optim/schedules/test_scheduler.c \
	tests/optim/test_clip_grad.c \
	tests/optim/test_flat_tensors.c \
	tests/optim/test_group.c \
	tests/optim/test_hooks.c \
	tests/optim/test_lbfgs.c \
	tests/optim/test_matrices.c \
	tests/optim/test_optimizer.c \
	tests/optim/test_state.c \
	tests/optim/test_vector.c

data_tests = \
	tests/utils/data/test_agrees.c \
	tests/utils/data/test_auto_dataloader.c \
	tests/utils/data/test_dataloader.c \
	tests/utils/data/test_dataloader_device.c \
	tests/utils/data/test_dataloader_errors.c \
	tests/utils/data/test_dataloader_random.c \
	tests/utils/data/test_dataloader_state.c \
	tests/utils/data/test_dataset.c \
	tests/utils/data/test_idx_to_hdf5.c \
	tests/utils/data/test_transform.c

training_tests = \
	tests/utils/training/test_early_stopping.c \
	tests/utils/training/test_keep_best.c \
	tests/utils/training/test_metrics.c \
	tests/utils/training/test_run_log.c

# The longest begin first: at the end, nothing is left that keeps one core alone.
longest_scripts = \
	tests/backends/cuda/emulated.sh \
	tests/lagging.sh \
	tests/nn/replay/replay.sh

test_scripts = \
	tests/agrees.sh \
	tests/api.sh \
	tests/backends/cuda/bundle.sh \
	tests/backends/cuda/errors.sh \
	tests/backends/cuda/link.sh \
	tests/backends/cuda/no_driver.sh \
	tests/backends/flaws.sh \
	tests/core/allocations.sh \
	tests/core/compare.sh \
	tests/core/damage.sh \
	tests/core/device.sh \
	tests/core/full_disk.sh \
	tests/core/handles.sh \
	tests/core/jobs.sh \
	tests/core/late.sh \
	tests/core/stall.sh \
	tests/coverage.sh \
	tests/distribution.sh \
	tests/documents.sh \
	tests/environment.sh \
	tests/examples/devices.sh \
	tests/examples/exchange.sh \
	tests/examples/fashion.sh \
	tests/examples/guides.sh \
	tests/examples/mnist.sh \
	tests/examples/parallel.sh \
	tests/examples/readme.sh \
	tests/examples/resume.sh \
	tests/examples/small.sh \
	tests/examples/trace.sh \
	tests/examples/trainings.sh \
	tests/flaky.sh \
	tests/fuzz/fuzz.sh \
	tests/harness.sh \
	tests/headers.sh \
	tests/layers.sh \
	tests/levels.sh \
	tests/multinode/delay.sh \
	tests/multinode/hosts.sh \
	tests/nn/starved.sh \
	tests/nn/stopped.sh \
	tests/reference.sh \
	tests/tools/idx2hdf5.sh \
	tests/tools/info.sh \
	tests/tools/man.sh \
	tests/tools/output.sh

long_scripts = \
	tests/core/allocations.sh \
	tests/core/damage.sh \
	tests/core/stall.sh \
	tests/examples/daso_accuracy.sh \
	tests/examples/modes.sh \
	tests/examples/resume.sh \
	tests/examples/trace.sh \
	tests/fuzz/fuzz.sh \
	tests/mpich.sh \
	tests/nn/starved.sh

# What scripts source: no tests by themselves.
sourced_scripts = \
	tests/code.sh \
	tests/core/launch.sh \
	tests/examples/images.sh \
	tests/examples/short_runs.sh \
	tests/mpi-env.sh \
	tests/on_device.sh \
	tests/tap.sh \
	tests/test-env.sh

# The lagging device names the public function in which the host touches its memory.
named_frames = -export-dynamic

# What the scripts launch.
test_programs = \
	tests/core/compare \
	tests/core/damage \
	tests/core/device_job \
	tests/core/full_disk \
	tests/core/handles \
	tests/core/job \
	tests/core/late \
	tests/core/stall \
	tests/fuzz/fuzz \
	tests/multinode/cable \
	tests/nn/replay/replay \
	tests/nn/starved \
	tests/nn/stopped \
	tests/run-harness \
	tests/trace-check

# The backends that test_device.c and test_near_device.c load. The rpath makes libtool build a module that can be loaded.
check_LTLIBRARIES += tests/core/libht_dummy.la
tests_core_libht_dummy_la_SOURCES = tests/core/dummy_backend.c
tests_core_libht_dummy_la_LDFLAGS = -module -avoid-version -shared -rpath $(abs_builddir)/tests/core

check_LTLIBRARIES += tests/core/libht_near.la
tests_core_libht_near_la_SOURCES = tests/core/near_backend.c
tests_core_libht_near_la_LDFLAGS = -module -avoid-version -shared -rpath $(abs_builddir)/tests/core

# A device for the whole suite: HT_TEST_DEVICE=lag:0.
check_LTLIBRARIES += tests/backends/lagging/libht_lag.la
tests_backends_lagging_libht_lag_la_SOURCES = \
	tests/backends/lagging/fault.c \
	tests/backends/lagging/kernels.c \
	tests/backends/lagging/lagging.c \
	tests/backends/lagging/lagging.h \
	tests/backends/lagging/memory.c \
	tests/backends/lagging/pinned.c \
	tests/backends/lagging/queue.c
tests_backends_lagging_libht_lag_la_LDFLAGS = -module -avoid-version -shared \
	-rpath $(abs_builddir)/tests/backends/lagging

# The module for CUDA with its kernels compiled for the host, and a runtime that needs no GPU: cuda:0 for tests, found in
# HT_BACKEND_PATH. A .emulated.lo is such a kernel's object.
SUFFIXES += .emulated.lo
.cu.emulated.lo:
	$(AM_V_CXX)$(LIBTOOL) $(AM_V_lt) --tag=CXX --mode=compile $(CXX) -x c++ $(emulated_flags) -MD -MP -MT $@ -MF $*.emulated.d \
	    -c -o $@ $<
emulated_flags = -std=c++17 -I$(top_srcdir)/tests/backends/cuda $(AM_CPPFLAGS) $(AM_CXXFLAGS) $(CXXFLAGS)
AM_CXXFLAGS = -O1 -Wall -Wextra $(HT_CXX_WERROR) -ffp-contract=off -fvisibility=hidden -pthread $(HT_SANITIZE)

emulated_sources = \
	tests/backends/cuda/emulated_blas.cc \
	tests/backends/cuda/emulated_dnn.cc \
	tests/backends/cuda/emulated_memory.cc \
	tests/backends/cuda/emulated_nccl.cc \
	tests/backends/cuda/emulated_runtime.cc \
	tests/backends/cuda/emulated_runtime.h \
	tests/backends/cuda/emulated_sort.cc \
	tests/backends/cuda/emulated_streams.cc
EXTRA_DIST += tests/backends/cuda/cuda_device.h tests/backends/cuda/emulate.h $(emulated_sources)
if HT_HAVE_CXX
check_LTLIBRARIES += tests/backends/cuda/libht_cuda.la
tests_backends_cuda_libht_cuda_la_SOURCES = $(emulated_sources) $(cuda_c_sources)
tests_backends_cuda_libht_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/backends/cuda
tests_backends_cuda_libht_cuda_la_CXXFLAGS = -std=c++17 $(AM_CXXFLAGS)
tests_backends_cuda_libht_cuda_la_LIBADD = $(cuda_kernel_sources:.cu=.emulated.lo)
tests_backends_cuda_libht_cuda_la_LDFLAGS = -module -avoid-version -shared -rpath $(abs_builddir)/tests/backends/cuda
MOSTLYCLEANFILES += $(cuda_kernel_sources:.cu=.emulated.lo) $(cuda_kernel_sources:.cu=.emulated.d)
-include $(cuda_kernel_sources:.cu=.emulated.d)
endif

tests_core_job_SOURCES = tests/core/job.c
tests_core_job_LDADD = libht_objects.la

# Built as a user's program is.
tests_core_compare_SOURCES = tests/core/compare.c
tests_core_compare_LDADD = $(checked_library)
tests_core_compare_LDFLAGS = $(AM_LDFLAGS) -no-install

tests_core_damage_SOURCES = tests/core/damage.c
tests_core_damage_LDADD = libht.la
tests_core_damage_LDFLAGS = $(AM_LDFLAGS) -no-install

tests_core_device_job_SOURCES = tests/core/device_job.c
tests_core_device_job_LDADD = libht.la
tests_core_device_job_LDFLAGS = $(AM_LDFLAGS) -no-install

tests_core_full_disk_SOURCES = tests/core/full_disk.c
tests_core_full_disk_LDADD = libht.la
tests_core_full_disk_LDFLAGS = $(AM_LDFLAGS) -no-install

tests_core_handles_SOURCES = tests/core/handles.c
tests_core_handles_LDADD = $(checked_library)
tests_core_handles_LDFLAGS = $(AM_LDFLAGS) -no-install

tests_core_late_SOURCES = tests/core/late.c
tests_core_late_LDADD = libht.la
tests_core_late_LDFLAGS = $(AM_LDFLAGS) -no-install

# MPI's functions that it replaces are replaced for HDF5 too.
tests_core_stall_SOURCES = tests/core/stall.c
tests_core_stall_LDADD = libht.la
tests_core_stall_LDFLAGS = $(AM_LDFLAGS) -no-install -export-dynamic

tests_fuzz_fuzz_SOURCES = \
	tests/fuzz/agrees.c \
	tests/fuzz/array.c \
	tests/fuzz/array.h \
	tests/fuzz/choose.c \
	tests/fuzz/comm.c \
	tests/fuzz/compare.c \
	tests/fuzz/exchange.c \
	tests/fuzz/files/damage.c \
	tests/fuzz/files/files.c \
	tests/fuzz/files/files.h \
	tests/fuzz/files/files_foreign.c \
	tests/fuzz/files/files_hdf5.c \
	tests/fuzz/files/files_keep.c \
	tests/fuzz/files/files_log.c \
	tests/fuzz/files/files_place.c \
	tests/fuzz/files/files_states.c \
	tests/fuzz/files/files_tables.c \
	tests/fuzz/files/files_value.c \
	tests/fuzz/files/states.c \
	tests/fuzz/fuzz.h \
	tests/fuzz/main.c \
	tests/fuzz/number.c \
	tests/fuzz/number.h \
	tests/fuzz/number_activations.c \
	tests/fuzz/number_functions.c \
	tests/fuzz/number_functions.h \
	tests/fuzz/number_memory.c \
	tests/fuzz/number_ops.c \
	tests/fuzz/ops/nn/ops_activations.c \
	tests/fuzz/ops/nn/ops_attention.c \
	tests/fuzz/ops/nn/ops_classes.c \
	tests/fuzz/ops/nn/ops_convolutions.c \
	tests/fuzz/ops/nn/ops_criteria.c \
	tests/fuzz/ops/nn/ops_dropout.c \
	tests/fuzz/ops/nn/ops_embedding.c \
	tests/fuzz/ops/nn/ops_layers.c \
	tests/fuzz/ops/nn/ops_layers.h \
	tests/fuzz/ops/nn/ops_losses.c \
	tests/fuzz/ops/nn/ops_norms.c \
	tests/fuzz/ops/nn/ops_pairs.c \
	tests/fuzz/ops/nn/ops_pools.c \
	tests/fuzz/ops/nn/ops_ranges.c \
	tests/fuzz/ops/nn/ops_recurrent.c \
	tests/fuzz/ops/nn/ops_resize.c \
	tests/fuzz/ops/nn/soft.c \
	tests/fuzz/ops/nn/soft.h \
	tests/fuzz/ops/nn/weights.c \
	tests/fuzz/ops/nn/windows.c \
	tests/fuzz/ops/nn/windows.h \
	tests/fuzz/ops/ops_checks.c \
	tests/fuzz/ops/ops_decompositions.c \
	tests/fuzz/ops/ops_elementwise.c \
	tests/fuzz/ops/ops_elementwise.h \
	tests/fuzz/ops/ops_exchange.c \
	tests/fuzz/ops/ops_factories.c \
	tests/fuzz/ops/ops_fft.c \
	tests/fuzz/ops/ops_functions.c \
	tests/fuzz/ops/ops_gradients.c \
	tests/fuzz/ops/ops_gradients.h \
	tests/fuzz/ops/ops_keys.c \
	tests/fuzz/ops/ops_layout.c \
	tests/fuzz/ops/ops_leaves.c \
	tests/fuzz/ops/ops_misuse.c \
	tests/fuzz/ops/ops_order.c \
	tests/fuzz/ops/ops_products.c \
	tests/fuzz/ops/ops_rearrange.c \
	tests/fuzz/ops/ops_rows.c \
	tests/fuzz/ops/ops_slabs.c \
	tests/fuzz/ops/ops_spatial.c \
	tests/fuzz/ops/ops_views.c \
	tests/fuzz/ops/ops_writes.c \
	tests/fuzz/ops/reduce/ops_moments.c \
	tests/fuzz/ops/reduce/ops_reduce.c \
	tests/fuzz/ops/reduce/ops_reduce_ext.c \
	tests/fuzz/ops/reduce/reductions.c \
	tests/fuzz/ops/reduce/reductions.h \
	tests/fuzz/program.c \
	tests/fuzz/run.c \
	tests/fuzz/shrink.c \
	tests/fuzz/train/daso.c \
	tests/fuzz/train/faults.c \
	tests/fuzz/train/loader.c \
	tests/fuzz/train/optimizer_rules.c \
	tests/fuzz/train/optimizer_rules.h \
	tests/fuzz/train/optimizers.c \
	tests/fuzz/train/schedules.c \
	tests/fuzz/train/train.c \
	tests/fuzz/train/train.h \
	tests/fuzz/train/train_around.c \
	tests/fuzz/train/train_family.c \
	tests/fuzz/train/train_net.c \
	tests/fuzz/train/train_reads.c
tests_fuzz_fuzz_LDADD = libht_objects.la $(HDF5_LIBS)
tests_fuzz_fuzz_LDFLAGS = $(AM_LDFLAGS) -no-install $(named_frames)

tests_multinode_cable_SOURCES = tests/multinode/cable.c
tests_multinode_cable_LDADD =

tests_nn_replay_replay_SOURCES = \
	tests/nn/replay/calls_activations.c \
	tests/nn/replay/calls_losses.c \
	tests/nn/replay/calls_norms.c \
	tests/nn/replay/calls_optimizers.c \
	tests/nn/replay/calls_others.c \
	tests/nn/replay/calls_windows.c \
	tests/nn/replay/database.c \
	tests/nn/replay/known.c \
	tests/nn/replay/layers.c \
	tests/nn/replay/layers_attention.c \
	tests/nn/replay/layers_recurrent.c \
	tests/nn/replay/replay.c \
	tests/nn/replay/replay.h \
	tests/nn/replay/run.c
tests_nn_replay_replay_LDADD = libht.la $(ZLIB_LIBS)
tests_nn_replay_replay_LDFLAGS = $(AM_LDFLAGS) -no-install

tests_nn_starved_SOURCES = tests/nn/programs.c tests/nn/programs.h tests/nn/starved.c
tests_nn_starved_LDADD = libht_objects.la

tests_nn_stopped_SOURCES = tests/nn/stopped.c
tests_nn_stopped_LDADD = libht.la
tests_nn_stopped_LDFLAGS = $(AM_LDFLAGS) -no-install

# Flags of its own, so that its objects are not those of libht_test.la.
tests_trace_check_SOURCES = tests/trace.c tests/trace.h tests/trace_check.c tests/trace_time.c
tests_trace_check_CFLAGS = $(AM_CFLAGS)
tests_trace_check_LDADD =

# Tests that end in every possible way, most of them badly.
harness_tests = tests/test_harness.c
tests_run_harness_SOURCES = $(harness_tests)
nodist_tests_run_harness_SOURCES = tests/registry.c
tests_run_harness_LDADD = libht_test.la

EXTRA_DIST += \
	$(longest_scripts) \
	$(test_scripts) \
	$(long_scripts) \
	$(sourced_scripts) \
	tests/again.sh \
	tests/build.sh \
	tests/code.awk \
	tests/count.sh \
	tests/doc_comments.awk \
	tests/english.awk \
	tests/lsan.supp \
	tests/tsan.supp \
	tests/core/algorithms/factor/matrices_test.h \
	tests/core/io/checkpoint/checkpoint_test.h \
	tests/core/io/safetensors/safetensors_test.h \
	tests/backends/cpu/cpu_elementwise.h \
	tests/backends/cpu/cpu_kernels.h \
	tests/core/exchange/exchange_test.h \
	tests/fuzz/README.md \
	tests/make-registry.sh \
	tests/mpi-run.sh \
	tests/multinode/launch \
	tests/golden/activations.h \
	tests/golden/arithmetics.h \
	tests/golden/attention.h \
	tests/golden/checkpoint_1.h5 \
	tests/golden/ctc.h \
	tests/golden/daso.h \
	tests/golden/golden_cases.py \
	tests/golden/keys.h \
	tests/golden/layers.h \
	tests/golden/make_activations.py \
	tests/golden/make_arithmetics.py \
	tests/golden/make_attention.py \
	tests/golden/make_ctc.py \
	tests/golden/make_daso.py \
	tests/golden/make_keys.py \
	tests/golden/make_layers.py \
	tests/golden/make_momentum.py \
	tests/golden/make_nn.py \
	tests/golden/make_norm.py \
	tests/golden/make_optim.py \
	tests/golden/make_param_groups.py \
	tests/golden/make_parametrizations.py \
	tests/golden/make_pooling.py \
	tests/golden/make_power_sgd.py \
	tests/golden/make_recurrent.py \
	tests/golden/make_safetensors.py \
	tests/golden/make_schedules.py \
	tests/golden/make_torch_activations.py \
	tests/golden/make_torch_db.py \
	tests/golden/make_torch_losses.py \
	tests/golden/make_torch_modules.py \
	tests/golden/make_torch_optimizers.py \
	tests/golden/momentum.h \
	tests/golden/nn.h \
	tests/golden/norm.h \
	tests/golden/optim.h \
	tests/golden/param_groups.h \
	tests/golden/parametrizations.h \
	tests/golden/pooling.h \
	tests/golden/power_sgd.h \
	tests/golden/recurrent.h \
	tests/golden/safetensors.h \
	tests/golden/schedules.h \
	tests/golden/torch_activations.h \
	tests/golden/torch_db.gz \
	tests/golden/torch_losses.h \
	tests/golden/torch_modules.gz \
	tests/golden/torch_optimizers.gz \
	tests/golden/torch_samples.py \
	tests/nn/parallel/data/comm_hook_test.h \
	tests/nn/parallel/data/data_parallel_errors.h \
	tests/nn/parallel/data/data_parallel_test.h \
	tests/nn/parallel/device/device_parallel_test.h \
	tests/nn/functional/refusals_attention.h \
	tests/nn/functional/refusals_embedding.h \
	tests/nn/functional/refusals_norm.h \
	tests/nn/functional/refusals_recurrent.h \
	tests/nn/functional/refusals_shape.h \
	tests/nn/functional/refusals_window.h \
	tests/nn/functionals/attention.h \
	tests/nn/functionals/embedding.h \
	tests/nn/functionals/norm.h \
	tests/nn/functionals/recurrent.h \
	tests/nn/functionals/shape.h \
	tests/nn/functionals/window.h \
	tests/nn/nn_test.h \
	tests/nn/parallel/daso/daso_test.h

# --- How they are built -------------------------------------------------------------------------

test_runners = \
	tests/core/run-core \
	tests/nn/run-nn \
	tests/nn/parallel/run-parallel \
	tests/optim/run-optim \
	tests/utils/data/run-data \
	tests/utils/training/run-training

if HT_TESTS
check_PROGRAMS += $(test_runners) $(test_programs)
endif

check_LTLIBRARIES += libht_test.la
libht_test_la_SOURCES = \
	tests/activation_rows.h \
	tests/activation_values.h \
	tests/agrees.c \
	tests/agrees.h \
	tests/complex_of.h \
	tests/elementwise.h \
	tests/elementwise_table.c \
	tests/elementwise_values.h \
	tests/golden/golden_case.c \
	tests/golden/golden_case.h \
	tests/gradcheck.c \
	tests/gradcheck.h \
	tests/ht_test.h \
	tests/optimizer_kinds.h \
	tests/runner.c \
	tests/tensor_check.c \
	tests/tensor_check.h \
	tests/trace.c \
	tests/trace.h \
	tests/trace_time.c
libht_test_la_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
libht_test_la_LIBADD = libht_objects.la $(CMOCKA_LIBS)
AM_CPPFLAGS += -I$(top_srcdir)/tests

tests_core_run_core_SOURCES = $(core_tests) src/backends/cuda/library/library.c
nodist_tests_core_run_core_SOURCES = tests/core/registry.c
tests_core_run_core_LDADD = libht_test.la
tests_core_run_core_LDFLAGS = $(AM_LDFLAGS) $(named_frames)

tests_nn_run_nn_SOURCES = $(nn_tests) tests/nn/functionals.c tests/nn/functionals.h tests/nn/functionals_activations.h tests/nn/functionals_losses.h tests/nn/programs.c tests/nn/programs.h
nodist_tests_nn_run_nn_SOURCES = tests/nn/registry.c
tests_nn_run_nn_LDADD = libht_test.la
tests_nn_run_nn_LDFLAGS = $(AM_LDFLAGS) $(named_frames)

tests_nn_parallel_run_parallel_SOURCES = $(parallel_tests) tests/utils/data/files.c tests/utils/data/files.h
nodist_tests_nn_parallel_run_parallel_SOURCES = tests/nn/parallel/registry.c
tests_nn_parallel_run_parallel_LDADD = libht_test.la
tests_nn_parallel_run_parallel_LDFLAGS = $(AM_LDFLAGS) $(named_frames)

tests_optim_run_optim_SOURCES = $(optim_tests)
nodist_tests_optim_run_optim_SOURCES = tests/optim/registry.c
tests_optim_run_optim_LDADD = libht_test.la
tests_optim_run_optim_LDFLAGS = $(AM_LDFLAGS) $(named_frames)

tests_utils_data_run_data_SOURCES = $(data_tests) tests/utils/data/files.c tests/utils/data/files.h
nodist_tests_utils_data_run_data_SOURCES = tests/utils/data/registry.c
tests_utils_data_run_data_LDADD = libht_test.la
tests_utils_data_run_data_LDFLAGS = $(AM_LDFLAGS) $(named_frames)

tests_utils_training_run_training_SOURCES = \
	$(training_tests) \
	tests/utils/data/files.c \
	tests/utils/data/files.h
nodist_tests_utils_training_run_training_SOURCES = tests/utils/training/registry.c
tests_utils_training_run_training_LDADD = libht_test.la
tests_utils_training_run_training_LDFLAGS = $(AM_LDFLAGS) $(named_frames)

tests/core/registry.c: $(core_tests) tests/make-registry.sh
	$(make_registry) $(core_tests) >$@
tests/nn/registry.c: $(nn_tests) tests/make-registry.sh
	$(make_registry) $(nn_tests) >$@
tests/nn/parallel/registry.c: $(parallel_tests) tests/make-registry.sh
	$(make_registry) $(parallel_tests) >$@
tests/optim/registry.c: $(optim_tests) tests/make-registry.sh
	$(make_registry) $(optim_tests) >$@
tests/utils/data/registry.c: $(data_tests) tests/make-registry.sh
	$(make_registry) $(data_tests) >$@
tests/utils/training/registry.c: $(training_tests) tests/make-registry.sh
	$(make_registry) $(training_tests) >$@
tests/registry.c: $(harness_tests) tests/make-registry.sh
	$(make_registry) $(harness_tests) >$@

make_registry = $(AM_V_GEN)$(MKDIR_P) $(@D) && \
	srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/make-registry.sh
CLEANFILES += \
	flaky.before \
	flaky.list \
	flaky.seen \
	tests/*.again \
	tests/*/*.again \
	tests/*/*/*.again \
	tests/core/registry.c \
	tests/nn/registry.c \
	tests/nn/parallel/registry.c \
	tests/optim/registry.c \
	tests/registry.c \
	tests/utils/data/registry.c \
	tests/utils/training/registry.c

# --- How they are run ---------------------------------------------------------------------------

if HT_TESTS
TESTS += $(longest_scripts) $(test_runners) $(test_scripts)
else
check-local:
	@echo "The tests need cmocka (Debian: libcmocka-dev); install it and run configure again." >&2
	@exit 1
endif

TEST_EXTENSIONS = .sh
AM_TESTS_ENVIRONMENT = \
	srcdir='$(srcdir)' CC='$(CC)' MPIRUN='$(MPIRUN)' SANITIZE='$(HT_SANITIZE)' \
	CHECKED='$(HT_CHECKED)'; \
	export srcdir CC MPIRUN SANITIZE CHECKED; \
	. '$(srcdir)/tests/test-env.sh';

tap_driver = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(tap_driver)
LOG_COMPILER = $(SHELL) $(srcdir)/tests/mpi-run.sh
SH_LOG_DRIVER = $(tap_driver)
SH_LOG_COMPILER = $(SHELL)

# Before the results are summed up: what failed runs again, alone.
test-suite.log: tests-again
tests-again: $(TEST_LOGS)
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) '$(srcdir)/tests/again.sh' $(TEST_LOGS)

# Before each commit: the runners alone, on one rank and on an odd number of them.
check-quick:
	HT_TEST_RANKS='1 3' $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(test_runners)'

# The tests that read files of the sources, which an archive may lack and no test may write, and one runner: .ci/run has
# run the others on the same sources.
archive_tests = tests/optim/run-optim \
	tests/core/damage.sh tests/core/device.sh tests/core/handles.sh tests/core/late.sh \
	tests/coverage.sh tests/distribution.sh tests/documents.sh tests/environment.sh \
	tests/examples/fashion.sh tests/examples/guides.sh tests/examples/mnist.sh tests/examples/readme.sh \
	tests/examples/small.sh tests/fuzz/fuzz.sh \
	tests/headers.sh tests/layers.sh tests/nn/replay/replay.sh tests/nn/starved.sh tests/reference.sh \
	tests/tools/idx2hdf5.sh tests/tools/info.sh tests/tools/man.sh tests/tools/output.sh

# The tests that run libht on data: those in which a sanitizer can find something. run-core has the tests of the emulated
# kernels, which make all of their accesses, so emulated.sh is left out.
memory_tests = $(test_runners) tests/lagging.sh tests/nn/replay/replay.sh \
	tests/core/allocations.sh tests/core/compare.sh tests/core/damage.sh tests/core/device.sh \
	tests/core/full_disk.sh tests/core/jobs.sh tests/core/late.sh \
	tests/examples/fashion.sh tests/examples/guides.sh tests/examples/mnist.sh tests/examples/small.sh \
	tests/examples/trainings.sh tests/fuzz/fuzz.sh tests/nn/starved.sh tests/tools/idx2hdf5.sh tests/tools/info.sh

check-long:
	HT_TEST_LONG=1 $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(test_runners) $(long_scripts)'
.PHONY: check-long check-quick tests-again
