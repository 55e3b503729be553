# SPDX-License-Identifier: GPL-2.0
#
# The front door. `make help` lists what there is; everything generated is under build/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help

VARIANT ?= plain
export KSRC VARIANT FORCE UNLISTED ACCEL KDIR TREE

SERIES := python3 tools/series
VM := python3 tools/testing/qemu/vm.py
need = @tools/series/packages.sh $(1)

help: ## this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

tree: ## the patched source tree, build/6.1/src (KSRC=tarball or directory instead of Debian's package)
	$(call need,tree base)
	@$(SERIES)/tree.py

kernel: ## the kernel, build/6.1/VARIANT/bzImage (VARIANT=plain, debug, kcsan or the unpatched base)
	$(call need,tree base kernel)
	@$(SERIES)/kernel.py "$(VARIANT)"

initrd: ## kselftests and client, and the initramfs of the test machine, build/6.1/initrd.cpio
	$(call need,tree base kernel guest)
	@VARIANT=plain $(SERIES)/kernel.py plain
	@$(SERIES)/guest.py

refresh: ## bring edits and commits made in build/6.1/src (or TREE=another git tree) back into patches/ and overlay
	$(call need,tree)
	@$(SERIES)/refresh.py $(if $(TREE),"$(TREE)")

apply: ## overlay and hunks onto your own tree: KDIR=directory
	$(call need,tree)
	@$(SERIES)/apply.py "$(KDIR)"

series: ## build/series/*.patch with cover letter, for git am and git send-email
	$(call need,tree base)
	@$(SERIES)/emit.py

clean: ## remove build/
	rm -rf build

.PHONY: help tree kernel initrd refresh apply series clean
