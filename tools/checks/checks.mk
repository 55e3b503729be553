# SPDX-License-Identifier: GPL-2.0
#
# The checks of `make check`, in order. To add one: its name to CHECKS, its recipe as check-<name>.
# A recipe fails by its exit status; when it prints TAP, each case counts on its own. Further files
# tools/checks/*.mk are read, too. `make check ONLY="name name"` runs a choice.

# Checks that leave the test machine to others run beside those (BESIDE), at low priority
LOW := nice -n 19
CODE := $(LOW) python3 tools/checks/code.py
STATIC := python3 tools/checks/static.py
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

# The readers of results and of the console themselves
CHECKS += readers
check-readers:
	tools/checks/tap_test.py

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
	tools/checks/series_test.py

# Several bases, on kernels of a few files that are made up
CHECKS += bases
BESIDE += bases
check-bases:
	tools/checks/bases_test.py

# The client's own tests, on a kernel that is made up
CHECKS += client
BESIDE += client
check-client:
	mkdir -p build/$(BASE)/client-test
	$(MAKE) -C tools/procmap O=$(abspath build/$(BASE)/client-test) check

# The test machine tells each way to fail from the others
CHECKS += vm
check-vm:
	tools/checks/vm_test.py

# kselftests, as root and as an ordinary user; with -64, -32, -racing or -exact a choice of programs, see
# tools/testing/qemu/kselftest.sh
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
		$(CURDIR)/tools/testing/qemu/debuggers.sh \
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
	tools/checks/configs.py $(CONFIGS)
