// SPDX-License-Identifier: GPL-2.0-only
/* find PID ADDRESS... - say which file is mapped there, and open that very file */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <libprocmap.h>

int main(int argc, char **argv)
{
	struct procmap *pm = procmap_open(argc > 1 ? atoi(argv[1]) : 0, PROCMAP_BACKEND_AUTO);
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct stat st;
	int i, fd;

	if (!pm) {
		perror("procmap_open");
		return 1;
	}
	for (i = 2; i < argc; i++) {
		const uint64_t addr = strtoull(argv[i], NULL, 16);

		if (procmap_find(pm, addr, PROCMAP_FILE | PROCMAP_NAME, &vma)) {
			printf("%s: %s\n", argv[i], strerror(errno));
			continue;
		}
		fd = procmap_open_file(pm, &vma);
		printf("%s: %s+0x%jx, %jd bytes\n", argv[i], vma.name,
		       (uintmax_t)procmap_file_offset(&vma, addr),
		       fd >= 0 && !fstat(fd, &st) ? (intmax_t)st.st_size : -1);
		if (fd >= 0)
			close(fd);
	}
	procmap_vma_free(&vma);
	procmap_close(pm);
	return 0;
}
