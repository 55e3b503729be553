# SPDX-License-Identifier: GPL-2.0
#
# Checks of the build IDs that take the files of this machine.

# One minute of fuzzing of the parser, in user space
CHECKS += buildid-fuzz
check-buildid-fuzz:
	$(MAKE) -C tools/testing/buildid fuzz SECONDS=60 SEED=1 OUTPUT=$(abspath build/$(BASE)/buildid)

# Every ELF file of this machine has the build ID that readelf finds, cached or not; about 90 s.
CHECKS += buildid-usr
check-buildid-usr:
	tools/checks/buildid_usr.py
