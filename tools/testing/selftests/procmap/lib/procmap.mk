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
	-pthread -D_GNU_SOURCE= -D_FILE_OFFSET_BITS=64 -I$(SHARED) $(KHDR_INCLUDES)
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
all: $(TESTS_32) $(TOOLS_32)
endif

# Sources that several programs have in common are compiled once for each size.
# The harness prints pointers as 64-bit numbers: -Wno-pointer-to-int-cast.
FLAGS_32 := -m32 -Wno-pointer-to-int-cast
SHARED_SRCS := $(sort $(COMMON) \
	$(foreach name,$(TESTS) $(TESTS_ONCE) $(TOOLS) $(TOOLS_ONCE),$($(name)-srcs)))
EXTRA_CLEAN += $(OUTPUT)/shared $(OUTPUT)/shared_32

$(SHARED_SRCS:%.c=$(OUTPUT)/shared/%.o): $(OUTPUT)/shared/%.o: %.c $(LOCAL_HDRS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CPPFLAGS) -c -o $@ $<

$(SHARED_SRCS:%.c=$(OUTPUT)/shared_32/%.o): $(OUTPUT)/shared_32/%.o: %.c $(LOCAL_HDRS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CPPFLAGS) $(FLAGS_32) -c -o $@ $<

$(TESTS_32) $(TOOLS_32): $(OUTPUT)/%_32: %.c $(LOCAL_HDRS)
	$(LINK.c) $(FLAGS_32) $(filter-out $(LOCAL_HDRS),$^) $(LDLIBS) -o $@

# $(1) a program, $(2) its suffix
define objects_of
$(OUTPUT)/$(1)$(2): $(patsubst %.c,$(OUTPUT)/shared$(2)/%.o,$(COMMON) $($(1)-srcs))
endef
$(foreach name,$(TESTS) $(TESTS_ONCE) $(TOOLS) $(TOOLS_ONCE),$(eval $(call objects_of,$(name),)))
$(foreach name,$(TESTS) $(TOOLS),$(eval $(call objects_of,$(name),_32)))
