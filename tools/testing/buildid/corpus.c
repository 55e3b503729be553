// SPDX-License-Identifier: GPL-2.0
/*
 * Write the images of lib/buildid_image.h to a directory, to seed the fuzzer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../lib/buildid_image.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

static void corpus_write(const char *dir, const char *kind, u32 nr, const struct build_id_image *im)
{
	u8 *buf = calloc(1, build_id_image_size(im));
	struct build_id_made made;
	char path[4096];
	FILE *file;

	if (!buf) {
		fprintf(stderr, "corpus: no memory\n");
		exit(1);
	}
	made = build_id_image_make(im, buf);
	snprintf(path, sizeof(path), "%s/%s-%u-%u%s", dir, kind, nr, im->is64 ? 64 : 32,
		 im->big ? "be" : "le");
	file = fopen(path, "w");
	if (!file || fwrite(buf, 1, made.len, file) != made.len || fclose(file)) {
		fprintf(stderr, "corpus: cannot write %s: %s\n", path, strerror(errno));
		exit(1);
	}
	free(buf);
}

static void corpus_all(const char *dir, const char *kind, const struct build_id_image *from, u32 n)
{
	struct build_id_image im;
	u32 i, v;

	for (i = 0; i < n; i++)
		for (v = 0; v < BUILD_ID_VARIANTS; v++) {
			im = build_id_image_variant(&from[i], v);
			corpus_write(dir, kind, i, &im);
		}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: corpus DIRECTORY\n");
		return 1;
	}
	corpus_all(argv[1], "made", build_id_images, ARRAY_SIZE(build_id_images));
	corpus_all(argv[1], "none", build_id_images_none, ARRAY_SIZE(build_id_images_none));
	return 0;
}
