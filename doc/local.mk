# Documents lie as they do here, so that their links lead somewhere.
dist_doc_DATA = CHANGELOG.md CONTRIBUTING.md LICENSE README.md
docpagesdir = $(docdir)/doc
dist_docpages_DATA = \
	doc/benchmarks.md \
	doc/checkpoints.md \
	doc/collectives.md \
	doc/coverage.md \
	doc/cuda.md \
	doc/daso.md \
	doc/data-parallelism.md \
	doc/design.md \
	doc/device-parallelism.md \
	doc/diagnosis.md \
	doc/environment.md \
	doc/from-heat.md \
	doc/install.md \
	doc/ownership.md \
	doc/tensors.md \
	doc/timeline.md \
	doc/training.md

# The topics of `make coverage`, each a list of names and the page made of it.
coverage_names = \
	doc/coverage/arithmetics.names \
	doc/coverage/checks.names \
	doc/coverage/classification.names \
	doc/coverage/cluster.names \
	doc/coverage/communication.names \
	doc/coverage/complex_math.names \
	doc/coverage/decomposition.names \
	doc/coverage/estimators.names \
	doc/coverage/exponential.names \
	doc/coverage/factories.names \
	doc/coverage/fft.names \
	doc/coverage/graph.names \
	doc/coverage/heat-nn.names \
	doc/coverage/indexing.names \
	doc/coverage/io.names \
	doc/coverage/linalg.names \
	doc/coverage/logical.names \
	doc/coverage/manipulations.names \
	doc/coverage/memory.names \
	doc/coverage/naive_bayes.names \
	doc/coverage/other.names \
	doc/coverage/preprocessing.names \
	doc/coverage/printing.names \
	doc/coverage/random.names \
	doc/coverage/regression.names \
	doc/coverage/relational.names \
	doc/coverage/rounding.names \
	doc/coverage/signal.names \
	doc/coverage/sparse.names \
	doc/coverage/spatial.names \
	doc/coverage/statistics.names \
	doc/coverage/tensor-methods.names \
	doc/coverage/tensor.names \
	doc/coverage/tiling.names \
	doc/coverage/torch-autograd.names \
	doc/coverage/torch-nn-activations.names \
	doc/coverage/torch-nn-containers.names \
	doc/coverage/torch-nn-dropout.names \
	doc/coverage/torch-nn-init.names \
	doc/coverage/torch-nn-linear.names \
	doc/coverage/torch-nn-losses.names \
	doc/coverage/torch-nn-normalisation.names \
	doc/coverage/torch-nn-padding.names \
	doc/coverage/torch-nn-pooling.names \
	doc/coverage/torch-nn-recurrent.names \
	doc/coverage/torch-nn-utils.names \
	doc/coverage/torch-optim-schedules.names \
	doc/coverage/torch-optim.names \
	doc/coverage/trigonometrics.names \
	doc/coverage/types.names \
	doc/coverage/utils.names \
	doc/coverage/vmap.names
coveragepagesdir = $(docpagesdir)/coverage
dist_coveragepages_DATA = $(coverage_names:.names=.md)
EXTRA_DIST += $(coverage_names) doc/coverage.awk doc/coverage.sh

# The reference, made of the comments of public headers: a manual page for each function, and one page for a browser.
docpages_DATA = doc/reference.html
EXTRA_DIST += doc/functions.awk doc/reference.awk
CLEANFILES += doc/functions.records doc/reference.html

doc/functions.records: $(htinclude_HEADERS) doc/functions.awk
	@$(MKDIR_P) doc
	$(AM_V_GEN)(cd $(srcdir) && $(AWK) -f doc/functions.awk $(htinclude_HEADERS)) >$@.new && mv $@.new $@

doc/reference.html: doc/functions.records doc/reference.awk
	$(AM_V_GEN)$(AWK) -v format=html -f $(srcdir)/doc/reference.awk doc/functions.records >$@.new && mv $@.new $@

doc/man3/stamp: doc/functions.records doc/reference.awk
	@rm -rf doc/man3 && $(MKDIR_P) doc/man3
	$(AM_V_GEN)$(AWK) -v format=man3 -v folder=doc/man3 -v version=$(VERSION) -f $(srcdir)/doc/reference.awk \
	    doc/functions.records && touch $@

all-local: doc/man3/stamp
install-data-local: doc/man3/stamp
	$(MKDIR_P) '$(DESTDIR)$(mandir)/man3'
	$(INSTALL_DATA) doc/man3/*.3 '$(DESTDIR)$(mandir)/man3'
uninstall-local:
	for page in doc/man3/*.3; do rm -f "$(DESTDIR)$(mandir)/man3/$${page##*/}"; done
clean-local:
	rm -rf doc/man3
