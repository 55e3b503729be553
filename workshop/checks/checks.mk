# SPDX-License-Identifier: GPL-2.0
#
# The checks of `make check`, in order. To add one: its name to CHECKS, its recipe as check-<name>.
# A recipe fails by its exit status; when it prints TAP, each case counts on its own.
# `make check ONLY="name name"` runs a choice.

# Checks that leave the test machine to others run beside those (BESIDE), at low priority
LOW := nice -n 19
CODE := $(LOW) python3 workshop/checks/code.py
STATIC := python3 workshop/checks/static.py
RESULTS := build/$(BASE)/results

# Kernels that are tested. More: nolock (CONFIG_PER_VMA_LOCK=n), up (one processor), preempt, arm64 (in
# qemu-system-aarch64, 64-bit programs only), ten minutes each; base, without tests but for check-bpf.
CHECK_VARIANTS ?= plain debug kcsan
OTHER_VARIANTS := $(filter-out plain,$(CHECK_VARIANTS))
CHECKS += $(OTHER_VARIANTS:%=kernel-%)
BESIDE += $(OTHER_VARIANTS:%=kernel-%)
$(OTHER_VARIANTS:%=check-kernel-%): check-kernel-%:
	$(LOW) $(SERIES)/kernel.py $*

STATIC_CHECKS := shellcheck function-length spdx maintained own-c-style uapi kernel-doc
CHECKS += $(STATIC_CHECKS)

$(STATIC_CHECKS:%=check-%): check-%:
	$(STATIC) $*

# Each errno table says everywhere what it says beside the code, and each row has a test
CHECKS += errno
check-errno:
	workshop/checks/errno.py

# The readers of results and of the console themselves
CHECKS += readers
check-readers:
	workshop/checks/tap_test.py

# What reads leaves of a maple tree, against the tree's own functions and beside writers, in user space
CHECKS += maple-leaf
BESIDE += maple-leaf
check-maple-leaf:
	$(LOW) $(MAKE) -C tools/testing/maple_leaf test SECONDS=20 SEED=1 \
		KTREE=$(abspath build/$(BASE)/src) OUTPUT=$(abspath build/$(BASE)/maple_leaf)

# Every patch that `make series` writes is clean under checkpatch.pl --strict
CHECKS += checkpatch
BESIDE += checkpatch
check-checkpatch:
	$(CODE) checkpatch

# sparse and W=1 add nothing
CHECKS += warnings
BESIDE += warnings
check-warnings:
	$(CODE) warnings

# make tree, apply, series, refresh, and what they say to bad input
CHECKS += series
BESIDE += series
check-series:
	workshop/checks/series_test.py

# Several bases, on kernels of a few files that are made up
CHECKS += bases
BESIDE += bases
check-bases:
	workshop/checks/bases_test.py

# The client's own tests, on a kernel that is made up
CHECKS += client
BESIDE += client
check-client:
	mkdir -p build/$(BASE)/client-test
	$(MAKE) -C tools/procmap O=$(abspath build/$(BASE)/client-test) check

# The test machine tells each way to fail from the others
CHECKS += vm
check-vm:
	workshop/checks/vm_test.py

# kselftests, as root and as an ordinary user; with -64, -32, -racing or -exact a choice of programs, see
# workshop/qemu/kselftest.sh
# $(1) variant, $(2) seconds for all of it, $(3) factor for the limits of single tests
define kselftest_rule
$(foreach size,- -64- -32- -racing- -exact-,$(foreach user,root user,$(patsubst %-,%,check-kselftest-$(1)-$(user)$(size)))): \
check-kselftest-$(1)-%:
	$$(if $$(filter-out plain,$(1)),$(SERIES)/kernel.py $(1))
	$$(if $$(filter arm64,$(1)),$(SERIES)/guest.py $(1))
	$(VM) --variant $(1) --memory 2G --timeout $(2) --results $(RESULTS)/$(1)-$$* \
		--append secretmem.enable=1 --env VM_TIMEOUT_SCALE=$(3) $$(if $$(findstring user,$$*),--uid 1000) \
		$$(if $$(findstring exact,$$*),--accel icount) \
		-- kselftest $$(filter 64 32 racing exact,$$(subst -, ,$$*))
endef
ifneq ($(filter plain,$(CHECK_VARIANTS)),)
CHECKS += kselftest-plain-root kselftest-plain-root-exact kselftest-plain-user
endif
$(eval $(call kselftest_rule,plain,1500,1))

# The main job, on this machine's own root file system
CHECKS += run
check-run:
	$(RUN)

# Debian's gdb and strace work as on any kernel
CHECKS += debuggers
check-debuggers:
	$(VM) --memory 2G --timeout 200 --results $(RESULTS)/debuggers --root host -- \
		$(CURDIR)/workshop/qemu/debuggers.sh \
		$(CURDIR)/build/$(BASE)/kselftest/process_vm/process_vm_target

# Every commit of the series builds
CHECKS += commits
BESIDE += commits
check-commits:
	$(CODE) commits

# What the series touches compiles without a warning in every configuration of configs.table, for five
# architectures, too: half an hour, so only with CHECK_CONFIGS=1
ifneq ($(CHECK_CONFIGS),)
CHECKS += configs
endif
.PHONY: check-configs
check-configs:
	workshop/checks/configs.py $(CONFIGS)

# Checks of the build IDs that take the files of this machine.

# One minute of fuzzing of the parser, in user space
CHECKS += buildid-fuzz
check-buildid-fuzz:
	$(MAKE) -C tools/testing/buildid fuzz SECONDS=60 SEED=1 OUTPUT=$(abspath build/$(BASE)/buildid)

# Every ELF file of this machine has the build ID that readelf finds, cached or not; about 90 s.
CHECKS += buildid-usr
check-buildid-usr:
	workshop/checks/buildid_usr.py

# Checks of what uses the interfaces: programs of the kernel tree, tools of Debian, examples.

# Offsets that the BPF selftests look up are the same by queries and by text, and on the unpatched
# kernel, too, with CHECK_VARIANTS="plain base"; 20 s for each kernel
CHECKS += bpf
check-bpf:
	$(if $(filter base,$(CHECK_VARIANTS)),$(SERIES)/kernel.py base)
	workshop/checks/bpf_test.py plain $(filter base,$(CHECK_VARIANTS))

# Pages and man pages give no remark; 10 s
CHECKS += docs
BESIDE += docs
check-docs:
	workshop/checks/docs_test.py

# The programs in documentation, man pages and README build and print the truth; 20 s
CHECKS += examples
check-examples:
	workshop/checks/examples_test.py

# procmap record finds the functions of a program, by build ID and offset; 60 s
CHECKS += record
check-record:
	workshop/checks/record_test.py

# make shell: status, terminal, and gdb, strace, perf and python3 of this machine; 90 s
CHECKS += shell
check-shell:
	workshop/checks/shell_test.py

# Checks of the other kernels of CHECK_VARIANTS, last, because they wait for these to be built.

# As root. The debug kernel runs 64-bit programs only: the others take the same paths behind the system
# call, and as long again. KCSAN sees what several tasks do at once: programs without that are left out.
# ONLY=kselftest-debug-root-32, kselftest-debug-user, kselftest-kcsan-root and so on run the rest.
SIZE_debug := -64
SIZE_kcsan := -racing
CHECKS += $(foreach variant,$(filter-out base,$(OTHER_VARIANTS)),kselftest-$(variant)-root$(SIZE_$(variant)))
$(eval $(call kselftest_rule,debug,2700,4))
$(eval $(call kselftest_rule,kcsan,2700,4))
$(eval $(call kselftest_rule,nolock,1500,1))
$(eval $(call kselftest_rule,up,1800,2))
$(eval $(call kselftest_rule,preempt,1800,2))
$(eval $(call kselftest_rule,arm64,2700,2))

# Tests inside the kernel
check-kunit:
	$(SERIES)/kernel.py debug
	workshop/checks/kunit.py

# Each detector of the debug kernel tells what it is there for; six minutes, so only with ONLY=splats
.PHONY: check-splats
check-splats:
	$(SERIES)/kernel.py debug
	workshop/checks/splats.py

ifneq ($(filter debug,$(CHECK_VARIANTS)),)
CHECKS += kunit
endif
