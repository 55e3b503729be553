# SPDX-License-Identifier: GPL-2.0
#
# Checks of the other kernels of CHECK_VARIANTS, last, because they wait for these to be built.

# All as root; the runs as a user are check-kselftest-debug-user and so on
CHECKS += $(filter-out kselftest-base-root,$(OTHER_VARIANTS:%=kselftest-%-root))
$(eval $(call kselftest_rule,debug,1800,4))
$(eval $(call kselftest_rule,kcsan,1800,4))
$(eval $(call kselftest_rule,nolock,900,1))
$(eval $(call kselftest_rule,up,900,2))
$(eval $(call kselftest_rule,arm64,1800,2))

# Tests inside the kernel
check-kunit:
	$(SERIES)/kernel.py debug
	tools/checks/kunit.py

# Each detector of the debug kernel tells what it is there for; six minutes
check-splats:
	$(SERIES)/kernel.py debug
	tools/checks/splats.py

ifneq ($(filter debug,$(CHECK_VARIANTS)),)
CHECKS += kunit splats
endif
