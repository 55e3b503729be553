# SPDX-License-Identifier: GPL-2.0
#
# Checks of what uses the interfaces: programs of the kernel tree, tools of Debian, examples.

# Offsets that the BPF selftests look up are the same by queries and by text, and on the unpatched
# kernel, too, with CHECK_VARIANTS="plain base"; 20 s for each kernel
CHECKS += bpf
check-bpf:
	$(if $(filter base,$(CHECK_VARIANTS)),$(SERIES)/kernel.py base)
	tools/checks/bpf_test.py plain $(filter base,$(CHECK_VARIANTS))

# Pages and man pages give no remark; 10 s
CHECKS += docs
BESIDE += docs
check-docs:
	tools/checks/docs_test.py

# The programs in documentation, man pages and README build and print the truth; 20 s
CHECKS += examples
check-examples:
	tools/checks/examples_test.py

# procmap record finds the functions of a program, by build ID and offset; 60 s
CHECKS += record
check-record:
	tools/checks/record_test.py

# make shell: status, terminal, and gdb, strace, perf and python3 of this machine; 90 s
CHECKS += shell
check-shell:
	tools/checks/shell_test.py
