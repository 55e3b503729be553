# SPDX-License-Identifier: GPL-2.0
#
# The checks of `make check`, in order. To add one, add its name to CHECKS and its recipe as
# check-<name>. A recipe fails by its exit status. If it prints TAP, each case counts on its own.
# `make check ONLY="name name"` runs only some.

# Checks that do not need the test machine run beside those that do (BESIDE), at low priority. After
# them comes KUnit, which needs one processor.
LOW := nice -n 19
CODE := $(LOW) python3 workshop/checks/code.py
STATIC := python3 workshop/checks/static.py
RESULTS := build/$(BASE)/results

# The kernels to test. Others are nolock (CONFIG_PER_VMA_LOCK=n), up (one processor), preempt and
# arm64 (in qemu-system-aarch64, 64-bit programs only), ten minutes each; profiler, which runs only
# check-profiler, and takes 20 minutes of processor to build; and base, which runs only check-bpf
# and check-text.
CHECK_VARIANTS ?= plain debug kcsan
OTHER_VARIANTS := $(filter-out plain,$(CHECK_VARIANTS))
# check-text needs the base kernel.
BUILT_VARIANTS := $(sort base $(OTHER_VARIANTS))
CHECKS += $(BUILT_VARIANTS:%=kernel-%)
BESIDE += $(BUILT_VARIANTS:%=kernel-%)
$(BUILT_VARIANTS:%=check-kernel-%): check-kernel-%:
	$(LOW) $(SERIES)/kernel.py $*

STATIC_CHECKS := shellcheck function-length spdx maintained own-c-style uapi kernel-doc
CHECKS += $(STATIC_CHECKS)

$(STATIC_CHECKS:%=check-%): check-%:
	$(STATIC) $*

# Each copy of an errno table agrees with the one beside the code, and each row has a test.
CHECKS += errno
check-errno:
	workshop/checks/errno_tables.py

# Tests of the programs that read results and the console.
CHECKS += readers
check-readers:
	workshop/checks/tap_test.py

# Test the reader of maple tree leaves in user space, against the tree's own functions and beside
# writers.
CHECKS += maple-leaf
BESIDE += maple-leaf
check-maple-leaf:
	$(LOW) $(MAKE) -C tools/testing/maple_leaf test SECONDS=20 SEED=1 \
		KTREE=$(abspath build/$(BASE)/src) OUTPUT=$(abspath build/$(BASE)/maple_leaf)

# Try to refute the lock in user space: threads, threads with pauses, threads under sanitizers, and
# single steps in weakly ordered memory, with long of 64 and 32 bits. What can be removed from the
# code is in the code, and no barrier is without a test.
VMA_LOCK := tools/testing/vma_lock
VMA_LOCK_ARGS = KTREE=$(abspath build/$(BASE)/src) OUTPUT=$(abspath build/$(BASE)/vma_lock)
CHECKS += vma-lock
BESIDE += vma-lock
check-vma-lock:
	$(LOW) $(MAKE) -C $(VMA_LOCK) all-tests SECONDS=60 SEED=1 $(VMA_LOCK_ARGS)

# The model of the lock, without each rule; and the litmus tests, without each barrier.
CHECKS += vma-lock-model
BESIDE += vma-lock-model
check-vma-lock-model:
	$(LOW) $(MAKE) -C $(VMA_LOCK) model

# Each write to a VMA is marked, or excused by name; and the rule misses each mark that is taken away.
CHECKS += vma-lock-marks
BESIDE += vma-lock-marks
check-vma-lock-marks:
	$(LOW) $(VMA_LOCK)/marks.py build/$(BASE)/src
	$(LOW) $(VMA_LOCK)/marks.py build/$(BASE)/src --self-test

# Break the lock in each way that "removals" names; each must be noticed within a minute. This takes
# twenty minutes, so only ONLY=vma-lock-removals runs it.
.PHONY: check-vma-lock-removals
check-vma-lock-removals:
	$(LOW) $(VMA_LOCK)/removals.py --ktree build/$(BASE)/src \
		--output build/$(BASE)/vma_lock-removals

# checkpatch.pl --strict accepts every patch that `make series` writes.
CHECKS += checkpatch
BESIDE += checkpatch
check-checkpatch:
	$(CODE) checkpatch

# sparse and W=1 report nothing new.
CHECKS += warnings
BESIDE += warnings
check-warnings:
	$(CODE) warnings

# Test make tree, apply, series and refresh, and their answers to bad input.
CHECKS += series
BESIDE += series
check-series:
	workshop/checks/series_test.py

# The series fits other point releases: the oldest and the newest that apt offers, what an earlier
# call has downloaded, and POINTS="6.1.176 ..." or POINTS=all. Each is 140 MB and takes 20 s the
# first time.
CHECKS += points
BESIDE += points
check-points:
	$(LOW) workshop/checks/points_test.py $(POINTS)

# Test several bases, with made-up kernels of a few files.
CHECKS += bases
BESIDE += bases
check-bases:
	workshop/checks/bases_test.py

# Run the client's own tests, on a made-up kernel.
CHECKS += client
BESIDE += client
check-client:
	mkdir -p build/$(BASE)/client-test
	$(MAKE) -C tools/procmap O=$(abspath build/$(BASE)/client-test) check

# The test machine distinguishes all ways to fail.
CHECKS += vm
check-vm:
	workshop/checks/vm_test.py

# kselftests, as root and as an ordinary user. -64, -32, -racing and so on select programs, see
# workshop/qemu/kselftest.sh.
#
# $(1) variant, $(2) seconds for all of it, $(3) factor for the limits of single tests
KSELFTEST_CHOICES := 64 32 maps other racing exact
KSELFTEST_SUFFIXES := - $(KSELFTEST_CHOICES:%=-%-) -64-maps- -64-other-
define kselftest_rule
$(foreach size,$(KSELFTEST_SUFFIXES),$(foreach user,root user,$(patsubst %-,%,check-kselftest-$(1)-$(user)$(size)))): \
check-kselftest-$(1)-%:
	$$(if $$(filter-out plain,$(1)),$(SERIES)/kernel.py $(1))
	$$(if $$(filter arm64,$(1)),$(SERIES)/guest.py $(1))
	$(VM) --variant $(1) --memory 2G --timeout $(2) --results $(RESULTS)/$(1)-$$* \
		--append secretmem.enable=1 --env VM_TIMEOUT_SCALE=$(3) $$(if $$(findstring user,$$*),--uid 1000) \
		$$(if $$(findstring exact,$$*),--accel icount) \
		-- kselftest $$(filter $$(KSELFTEST_CHOICES),$$(subst -, ,$$*))
endef
ifneq ($(filter plain,$(CHECK_VARIANTS)),)
CHECKS += kselftest-plain-root kselftest-plain-root-exact kselftest-plain-user-64
endif
$(eval $(call kselftest_rule,plain,1500,1))

# The text of /proc/<pid>/maps is that of the unpatched kernel, byte for byte; a minute.
CHECKS += text
check-text:
	$(SERIES)/kernel.py base
	workshop/checks/text_test.py

# The main job, on this machine's own root file system.
CHECKS += run
check-run:
	$(RUN)

# Debian's gdb and strace work as on any kernel.
CHECKS += debuggers
check-debuggers:
	$(VM) --memory 2G --timeout 200 --results $(RESULTS)/debuggers --root host -- \
		$(CURDIR)/workshop/qemu/debuggers.sh \
		$(CURDIR)/build/$(BASE)/kselftest/process_vm/process_vm_target

# The files of the series compile without a warning in every configuration of configs.table, also
# for five architectures. This takes half an hour, so it needs CHECK_CONFIGS=1.
ifneq ($(CHECK_CONFIGS),)
CHECKS += configs
endif
.PHONY: check-configs
check-configs:
	workshop/checks/configs.py $(CONFIGS)

# Checks of build IDs that use the files of this machine.

# Fuzz the parser for one minute, in user space.
CHECKS += buildid-fuzz
check-buildid-fuzz:
	$(MAKE) -C tools/testing/buildid fuzz SECONDS=60 SEED=1 OUTPUT=$(abspath build/$(BASE)/buildid)

# Every ELF file of this machine has the build ID that readelf finds, cached or not; about 90 s.
CHECKS += buildid-usr
check-buildid-usr:
	workshop/checks/buildid_usr.py

# Checks of the users of the interfaces: programs of the kernel tree, tools of Debian, examples.

# The BPF selftests find the same offsets by queries and by text. With CHECK_VARIANTS="plain base",
# also on the unpatched kernel. 20 s for each kernel.
CHECKS += bpf
check-bpf:
	$(if $(filter base,$(CHECK_VARIANTS)),$(SERIES)/kernel.py base)
	workshop/checks/bpf_test.py plain $(filter base,$(CHECK_VARIANTS))

# The documentation and the man pages build without warnings; 10 s.
CHECKS += docs
BESIDE += docs
check-docs:
	workshop/checks/docs_test.py

# The programs in documentation, man pages and README build and print the truth; a minute.
CHECKS += examples
check-examples:
	workshop/checks/examples_test.py

# procmap record finds the functions of programs, by build ID and offset and by its own symbols.
CHECKS += record
check-record:
	workshop/checks/record_test.py

# The library on the patched kernel: its cache is never stale; 30 s. Only ONLY=client-guest runs all
# tests of the client there, too, in three minutes.
CHECKS += cache
CLIENT_TESTS := build/$(BASE)/client-guest
define client_tests
	mkdir -p $(CLIENT_TESTS)
	$(MAKE) -s -C tools/procmap O=$(abspath $(CLIENT_TESTS)) NO_LIBDW=1 tests
	$(VM) --memory 1G --timeout 600 --results $(RESULTS)/$(1) --root host -- /bin/sh -c \
		'cd $(abspath $(CLIENT_TESTS))/tests && $(2)'
endef
check-cache:
	$(call client_tests,cache,./live-test && ./lib-test)

.PHONY: check-client-guest
check-client-guest:
	$(call client_tests,client-guest,$(CURDIR)/tools/procmap/tests/cli-test.py ..)

# perf of the tree asks for mappings by scans, and falls back; needs the base kernel.
CHECKS += perf
check-perf:
	$(SERIES)/kernel.py base
	$(SERIES)/perf.py
	workshop/checks/perf_test.py

# make shell: its status and terminal, and gdb, strace, perf and python3 of this machine; 90 s.
CHECKS += shell
check-shell:
	workshop/checks/shell_test.py

# make torture says how far it is, on a terminal and in a log, and ends as it should; 90 s.
CHECKS += torture
check-torture:
	workshop/checks/torture_test.py

# Every commit of the series builds. The checks after this one would wait for the debug kernel.
CHECKS += commits
check-commits:
	$(CODE) commits

# Checks of the other kernels of CHECK_VARIANTS. They come last because they wait for the builds.

# These run as root. The debug kernel runs only 64-bit programs: 32-bit ones take the same paths
# behind the system call and would double the time. They are shared among two machines, and so are
# the processors. KCSAN sees races between tasks, so its kernel runs only programs in which several
# tasks work at once. ONLY=kselftest-debug-root-32, kselftest-debug-user, kselftest-kcsan-root and
# so on run the rest.
SIZES_debug := -64-maps -64-other
SIZES_kcsan := -racing
sized_checks = $(if $(SIZES_$(1)),$(SIZES_$(1):%=kselftest-$(1)-root%),kselftest-$(1)-root)
CHECKS += $(foreach variant,$(filter-out base profiler,$(OTHER_VARIANTS)),$(call sized_checks,$(variant)))
$(eval $(call kselftest_rule,debug,3600,4))
$(eval $(call kselftest_rule,kcsan,2700,4))
$(eval $(call kselftest_rule,nolock,1500,1))
$(eval $(call kselftest_rule,up,1800,2))
$(eval $(call kselftest_rule,preempt,1800,2))
$(eval $(call kselftest_rule,arm64,2700,2))

# bpftrace, bpftool and perf of this machine count what happened, in make shell VARIANT=profiler.
check-profiler:
	$(SERIES)/kernel.py profiler
	workshop/checks/profiler_test.py

ifneq ($(filter profiler,$(CHECK_VARIANTS)),)
CHECKS += profiler
endif

CHOICE_kselftest-debug := $(call sized_checks,debug)

# Tests inside the kernel.
BESIDE += kunit
check-kunit:
	$(SERIES)/kernel.py debug
	workshop/checks/kunit.py

# Each detector of the debug kernel reports its kind of bug. This takes six minutes, so only
# ONLY=splats runs it.
.PHONY: check-splats
check-splats:
	$(SERIES)/kernel.py debug
	workshop/checks/splats.py

ifneq ($(filter debug,$(CHECK_VARIANTS)),)
CHECKS += kunit
endif

# What somebody meets who uses this for the first time: `make check ONLY=first-contact`.
CHOICE_first-contact := vm bases series points run shell profiler torture client examples record docs
