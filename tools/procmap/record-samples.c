// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap record: samples, as perf_event_open(2) delivers them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include "record.h"

/*
 * What follows the header in a PERF_RECORD_SAMPLE, as record_open() asks for
 * it.
 */
struct record_sample {
	uint64_t nr;
	uint64_t ips[];
};

/* What follows the header in a PERF_RECORD_LOST. */
struct record_lost {
	uint64_t id;
	uint64_t lost;
};

/* Make room for @more elements behind the first @nr of an array. */
static int record_reserve(void *array, size_t size, size_t nr, size_t more, size_t *alloc)
{
	size_t want = *alloc ? *alloc : 64;
	void *bigger;

	while (want < nr + more)
		want *= 2;
	if (want == *alloc)
		return 0;
	bigger = reallocarray(*(void **)array, want, size);
	if (!bigger)
		return -1;
	*(void **)array = bigger;
	*alloc = want;
	return 0;
}

static int record_parse_sample(const struct record_sample *sample, size_t size,
			       struct record_samples *samples)
{
	size_t begin = samples->nr_addrs;
	uint64_t i, ip;

	if (size < sizeof(*sample) || sample->nr > (size - sizeof(*sample)) / sizeof(ip)) {
		errno = EPROTO;
		return -1;
	}
	if (record_reserve(&samples->addrs, sizeof(ip), samples->nr_addrs, sample->nr,
			   &samples->alloc_addrs) ||
	    record_reserve(&samples->ends, sizeof(size_t), samples->nr, 1, &samples->alloc))
		return -1;
	for (i = 0; i < sample->nr; i++) {
		ip = sample->ips[i];
		/*
		 * A marker of the kind of the next addresses, or the end of the
		 * chain.
		 */
		if (!ip || ip >= PERF_CONTEXT_MAX)
			continue;
		/*
		 * A return address may be in the next function: point into the
		 * call.
		 */
		samples->addrs[samples->nr_addrs] = samples->nr_addrs > begin ? ip - 1 : ip;
		samples->nr_addrs++;
	}
	samples->ends[samples->nr++] = samples->nr_addrs;
	return 0;
}

int record_parse(const void *data, size_t size, struct record_samples *samples)
{
	const struct perf_event_header *header;
	const char *at = data, *end = at + size;
	const struct record_lost *lost;

	for (; at < end; at += header->size) {
		header = (const void *)at;
		if ((size_t)(end - at) < sizeof(*header) || header->size < sizeof(*header) ||
		    header->size > end - at || header->size % sizeof(uint64_t)) {
			errno = EPROTO;
			return -1;
		}
		if (header->type == PERF_RECORD_SAMPLE) {
			if (record_parse_sample((const void *)(header + 1),
						header->size - sizeof(*header), samples))
				return -1;
		} else if (header->type == PERF_RECORD_LOST &&
			   header->size >= sizeof(*header) + sizeof(*lost)) {
			lost = (const void *)(header + 1);
			samples->lost += lost->lost;
		}
	}
	return 0;
}

void record_samples_clear(struct record_samples *samples)
{
	samples->nr = 0;
	samples->nr_addrs = 0;
}

void record_samples_free(struct record_samples *samples)
{
	free(samples->addrs);
	free(samples->ends);
	memset(samples, 0, sizeof(*samples));
}
