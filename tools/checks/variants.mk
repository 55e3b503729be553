# SPDX-License-Identifier: GPL-2.0
#
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
	tools/checks/kunit.py

# Each detector of the debug kernel tells what it is there for; six minutes, so only with ONLY=splats
.PHONY: check-splats
check-splats:
	$(SERIES)/kernel.py debug
	tools/checks/splats.py

ifneq ($(filter debug,$(CHECK_VARIANTS)),)
CHECKS += kunit
endif
