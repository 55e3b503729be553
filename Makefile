# SPDX-License-Identifier: GPL-2.0
#
# The entry point. `make help` lists the targets. Everything generated is under build/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help

VARIANT ?= plain
MINUTES ?= 10
TORTURE_VARIANTS ?= debug kcsan

# The disk space that a target needs to build everything.
run shell bench torture: export NEED_MB := 3500
check: export NEED_MB := 5000
check-all: export NEED_MB := 12000

# The kernel's makefiles refuse a path with a space or a colon.
ifneq ($(words $(subst :, ,$(CURDIR))),1)
ifneq ($(filter-out help clean,$(MAKECMDGOALS)),)
$(error the path of this directory has a space or a colon, and no kernel can be built there: move it)
endif
endif

# The kernel that everything is built for, one of the directories of patches/. Nothing else names a
# version.
BASES := $(sort $(patsubst patches/%/series,%,$(wildcard patches/*/series)))
override BASE := $(or $(strip $(BASE)),$(file <patches/default))
ifeq ($(findstring | $(BASE) |,$(BASES:%=| % |) | all |),)
$(error BASE=$(BASE) is unknown; there are patches for $(BASES))
endif

ifneq ($(shell [[ '$(MINUTES)' =~ ^[1-9][0-9]*$$ ]] && echo ok),ok)
$(error MINUTES=$(MINUTES) is not a number of minutes)
endif
export BASE KSRC VARIANT FORCE UNLISTED ACCEL KDIR PART POINTS CONFIGS FRESH

SERIES := python3 workshop/series
VM := python3 workshop/qemu/vm.py
need = @workshop/series/packages.sh $(1)
CHECK = python3 workshop/checks/run.py $(if $(FRESH),--fresh)

help: ## this list; BASE= goes with all others: one of patches/*, or all for tree, kernel, initrd, series, check, check-all
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# BASE=all: run a separate make for each base, but those whose patches stand alone.
ALONE := $(shell grep -ls '^stands alone' patches/*/base)
ALL := $(filter-out $(ALONE:patches/%/base=%),$(BASES))
EACH := tree kernel initrd series
ifeq ($(BASE),all)
ifneq ($(filter-out $(EACH) check check-all help clean,$(MAKECMDGOALS)),)
$(error BASE=all is for $(EACH) check check-all; \
	$(firstword $(filter-out $(EACH) check check-all help clean,$(MAKECMDGOALS))) takes one of $(BASES))
endif
$(EACH):
	@for base in $(ALL); do $(MAKE) $@ BASE=$$base; done
check check-all:
	@workshop/checks/all.py $@ $(ALL)
else

tree: ## the patched source tree, build/BASE/src (KSRC=tarball or directory instead of Debian's package)
	$(call need,tree base)
	@$(SERIES)/tree.py

kernel: ## the kernel, build/BASE/VARIANT/bzImage (VARIANT=plain, debug, kcsan, profiler, nolock, up, preempt, arm64, base)
	$(call need,tree base kernel $(filter arm64 profiler,$(VARIANT)))
	@$(SERIES)/kernel.py "$(VARIANT)"

initrd: ## kselftests and client, and the initramfs of the test machine, build/BASE/initrd.cpio
	$(call need,tree base kernel guest $(filter arm64,$(VARIANT)))
	@$(SERIES)/tree.py
	@$(SERIES)/guest.py $(or $(filter arm64,$(VARIANT)),plain)

run: ## the main job: resolve the addresses of a live program in the patched kernel, checked against the text
	$(call need,tree base kernel guest vm)
	@$(SERIES)/kernel.py plain
	@$(SERIES)/guest.py
	@echo "  RUN     the patched kernel, with this machine's root file system"
	@$(VM) --memory 2G --timeout 1200 --results build/$(BASE)/results/run --root host -- \
		$(CURDIR)/workshop/qemu/run.sh $(CURDIR)/build/$(BASE)/tools/bin/procmap

# make must not expand CMD: the shell in the machine expands $HOME there.
unexport CMD
shell: ## a shell in the patched kernel, on this machine's files; or one command, CMD='...'
	$(call need,tree base kernel guest vm $(filter profiler,$(VARIANT)))
	@$(SERIES)/kernel.py "$(VARIANT)"
	@$(SERIES)/guest.py
	@workshop/qemu/shell.sh $(if $(value CMD),'$(subst ','\'',$(value CMD))')

bench: ## what queries cost, and whom, against the unpatched base; build/BASE/results/bench.md, .json, .svg
	$(call need,tree base kernel guest vm bench)
	@$(SERIES)/kernel.py plain
	@$(SERIES)/kernel.py base
	@$(SERIES)/guest.py
	@python3 workshop/qemu/bench.py

perf: ## perf of the tree, build/BASE/perf/perf; it asks the kernel for mappings by PROCMAP_SCAN
	$(call need,tree base perf)
	@$(SERIES)/perf.py

deb: ## Debian packages of the kernel with Debian's own configuration, of procmap and its library, in build/BASE/deb
	$(call need,tree base kernel deb)
	@$(SERIES)/deb.py

torture: ## the torture test for MINUTES=10 on each of the debug kernels
	$(call need,tree base kernel guest vm $(filter arm64,$(TORTURE_VARIANTS)))
	@for variant in $(TORTURE_VARIANTS); do $(SERIES)/kernel.py $$variant; done
	@$(SERIES)/kernel.py plain
	@$(SERIES)/guest.py
	@$(if $(filter arm64,$(TORTURE_VARIANTS)),$(SERIES)/guest.py arm64)
	@python3 workshop/qemu/torture.py $(MINUTES) $(TORTURE_VARIANTS)

check: ## what stands before each change, 20 minutes from nothing; ONLY="name..." for a choice, FRESH=1 for what has passed, too; the last line is `N passed, N failed, N skipped`
	@$(CHECK) $(ONLY)

check-all: ## all tests, for hours; an interrupted call is continued by the next one; STATUS=1 says what passed on which commit, and what is stale since
	@$(CHECK) --all $(if $(STATUS),--status) $(ONLY)

test: ## kselftests: T=procmap/procmap_scan_test, or T=fs/proc/procmap_scan.c for those that cover the file; VARIANT= chooses the kernel
	@python3 workshop/checks/test.py $(T)

refresh: ## bring edits and commits made in build/BASE/src back into patches/ and overlay
	$(call need,tree)
	@$(SERIES)/refresh.py

apply: ## overlay and hunks onto your own tree: KDIR=directory
	$(call need,tree)
	@$(SERIES)/apply.py "$(KDIR)"

series: ## build/series/*.patch with cover letter, for git am, git send-email and b4; PART=kernel leaves out tools/
	$(call need,tree base)
	@$(SERIES)/emit.py

endif

clean: ## remove build/
	rm -rf build

.PHONY: help tree kernel initrd run shell bench perf deb torture check check-all test refresh apply series clean
