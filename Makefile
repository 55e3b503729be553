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
check: export NEED_MB := 8500

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
export BASE KSRC VARIANT FORCE UNLISTED ACCEL KDIR TREE PART

SERIES := python3 workshop/series
VM := python3 workshop/qemu/vm.py
need = @workshop/series/packages.sh $(1)

help: ## this list; BASE= goes with all others: one of patches/*, or all for tree, kernel, initrd, series, check
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# BASE=all: run a separate make for each base.
EACH := tree kernel initrd series check
ifeq ($(BASE),all)
ifneq ($(filter-out $(EACH) help clean,$(MAKECMDGOALS)),)
$(error BASE=all is for $(EACH); $(firstword $(filter-out $(EACH) help clean,$(MAKECMDGOALS))) takes one of $(BASES))
endif
$(filter-out check,$(EACH)):
	@for base in $(BASES); do $(MAKE) $@ BASE=$$base; done
check:
	@workshop/checks/all.py $(BASES)
else

tree: ## the patched source tree, build/BASE/src (KSRC=tarball or directory instead of Debian's package)
	$(call need,tree base)
	@$(SERIES)/tree.py

kernel: ## the kernel, build/BASE/VARIANT/bzImage (VARIANT=plain, debug, kcsan, profiler, nolock, up, preempt, arm64, base)
	$(call need,tree base kernel $(filter arm64 profiler,$(VARIANT)))
	@$(SERIES)/kernel.py "$(VARIANT)"

RUN = $(VM) --memory 2G --timeout 300 --results build/$(BASE)/results/run --root host -- \
	$(CURDIR)/workshop/qemu/run.sh $(CURDIR)/build/$(BASE)/tools/bin/procmap
include workshop/checks/checks.mk

initrd: ## kselftests and client, and the initramfs of the test machine, build/BASE/initrd.cpio
	$(call need,tree base kernel guest $(filter arm64,$(VARIANT)))
	@$(SERIES)/kernel.py $(or $(filter arm64,$(VARIANT)),plain)
	@$(SERIES)/guest.py $(or $(filter arm64,$(VARIANT)),plain)

run: ## the main job: resolve the addresses of a live program in the patched kernel, checked against the text
	$(call need,tree base kernel guest vm)
	@$(SERIES)/kernel.py plain
	@$(SERIES)/guest.py
	@echo "  RUN     the patched kernel, with this machine's root file system"
	@$(RUN)

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

torture: ## the torture test for MINUTES=10 on each of the debug kernels
	$(call need,tree base kernel guest vm $(filter arm64,$(TORTURE_VARIANTS)))
	@for variant in $(TORTURE_VARIANTS); do $(SERIES)/kernel.py $$variant; done
	@$(SERIES)/kernel.py plain
	@$(SERIES)/guest.py
	@$(if $(filter arm64,$(TORTURE_VARIANTS)),$(SERIES)/guest.py arm64)
	@python3 workshop/qemu/torture.py $(MINUTES) $(TORTURE_VARIANTS)

CHOICE = $(foreach name,$(ONLY),$(or $(CHOICE_$(name)),$(name)))
check: ## all tests, with BASE=all for each base; the last line is `N passed, N failed, N skipped` (ONLY="name..." for a choice)
	@targets=$$($(MAKE) -pRrq : 2>/dev/null || true); for name in $(CHOICE); do \
		grep -q "^check-$$name:" <<<"$$targets" || { \
		echo "error: ONLY=$$name is no check; there are: $(sort $(CHECKS))" >&2; exit 1; }; done
	$(call need,tree base kernel guest vm check perf $(filter arm64 profiler,$(CHECK_VARIANTS) $(CHOICE)) $(CHECK_CONFIGS:%=cross))
	@$(SERIES)/kernel.py plain
	@$(SERIES)/guest.py
	@$(SERIES)/emit.py
	@python3 workshop/checks/run.py --beside "$(BESIDE)" $(or $(CHOICE),$(CHECKS))

refresh: ## bring edits and commits made in build/BASE/src (or TREE=another git tree) back into patches/ and overlay
	$(call need,tree)
	@$(SERIES)/refresh.py $(if $(TREE),"$(TREE)")

apply: ## overlay and hunks onto your own tree: KDIR=directory
	$(call need,tree)
	@$(SERIES)/apply.py "$(KDIR)"

series: ## build/series/*.patch with cover letter, for git am, git send-email and b4; PART=kernel leaves out tools/
	$(call need,tree base)
	@$(SERIES)/emit.py

endif

clean: ## remove build/
	rm -rf build

.PHONY: help tree kernel initrd run shell bench perf torture check $(CHECKS:%=check-%) refresh apply series clean
