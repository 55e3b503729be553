# SPDX-License-Identifier: GPL-2.0
#
# Build rules for the programs of this folder and of the folders that share it.
# A Makefile sets these variables and then includes this file:
#
# TESTS		programs that run_kselftest.sh runs. If the compiler can also
#		build 32-bit programs, each is built twice, the second time as
#		<name>_32.
# TESTS_ONCE	tests that do not depend on the size of long, built only once
# TOOLS		programs that tests use or a person runs, built twice, too
# TOOLS_ONCE	the same, but built only once
# COMMON	sources of all programs
# <name>-srcs	more sources of one of them
SHARED := $(dir $(lastword $(MAKEFILE_LIST)))
vpath %.c $(SHARED)

TEST_GEN_PROGS := $(TESTS) $(TESTS_ONCE)
TEST_GEN_PROGS_EXTENDED := $(TOOLS) $(TOOLS_ONCE)

# Static, because the programs also run in an initramfs that has no C library.
# With a build ID, because tests ask for the build ID of their own code.
CFLAGS += -O2 -g -std=gnu11 -Wall -Wextra -Wno-sign-compare -Wno-unused-parameter -Wno-clobbered \
	-pthread -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I$(SHARED) $(KHDR_INCLUDES)
LDFLAGS += -static -Wl,--build-id=sha1
LOCAL_HDRS += $(wildcard *.h $(SHARED)*.h)

include $(SHARED)../../lib.mk

CAN_BUILD_32 := $(shell $(selfdir)/x86/check_cc.sh "$(CC)" $(selfdir)/x86/trivial_32bit_program.c -m32 -static)
CAN_BUILD_64 := $(shell $(selfdir)/x86/check_cc.sh "$(CC)" $(selfdir)/x86/trivial_64bit_program.c -static)

ifeq ($(CAN_BUILD_32)$(CAN_BUILD_64),11)
CFLAGS += -DPROCMAP_BOTH_SIZES
TESTS_32 := $(TESTS:%=$(OUTPUT)/%_32)
TOOLS_32 := $(TOOLS:%=$(OUTPUT)/%_32)
TEST_GEN_PROGS += $(TESTS_32)
TEST_GEN_PROGS_EXTENDED += $(TOOLS_32)
# The harness prints pointers as 64-bit numbers: -Wno-pointer-to-int-cast.
$(TESTS_32) $(TOOLS_32): $(OUTPUT)/%_32: %.c $(LOCAL_HDRS)
	$(LINK.c) -m32 -Wno-pointer-to-int-cast $(filter-out $(LOCAL_HDRS),$^) $(LDLIBS) -o $@

all: $(TESTS_32) $(TOOLS_32)
endif

$(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED): $(COMMON)
$(foreach name,$(TESTS) $(TESTS_ONCE) $(TOOLS) $(TOOLS_ONCE),\
	$(eval $(OUTPUT)/$(name) $(OUTPUT)/$(name)_32: $($(name)-srcs)))
