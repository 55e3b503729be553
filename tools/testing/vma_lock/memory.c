// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of the machine. The compiler inserts a call before each plain
 * access, as for ThreadSanitizer; access.h makes a call of each marked one.
 *
 * Real memory has the newest value of each word. This file knows the older ones,
 * and does two things that weakly ordered processors do:
 *
 * - A context's writes stay pending, and become visible to others one by one, in
 *   any order except for those to the same word. A write barrier, a release or a
 *   full barrier makes those before it visible first.
 * - A marked read may have been done early: it returns any value that the word
 *   had since the last point that the read cannot pass. A read barrier or a full
 *   barrier is such a point; so is what an acquire or rcu_dereference() has read.
 *   No context sees a word go back in time.
 *
 * This is less than the kernel's memory model allows. A read is never done late,
 * and a plain read under a lock never early: the litmus tests have these cases.
 */
#include "machine.h"
#include "tsan.h"
#include "shim/access.h"
#include "world.h"

#undef memset
#undef memcpy

#define BUCKETS		4096
#define VERSIONS	8	/* of the words of a bucket */
#define PENDING_MAX	48
#define SEEN		256
#define WORD		sizeof(unsigned long)

/* Pending: later than everything. */
#define NEVER		UINT64_MAX

/**
 * struct version - a value that a word had
 * @word: address of the word
 * @value: the value
 * @until: when the next value became visible to others; NEVER: it is pending
 * @by: the context that wrote the next value
 */
struct version {
	uintptr_t word;
	unsigned long value;
	u64 until;
	unsigned int by;
};

/**
 * struct bucket - versions of a few words
 * @version: the versions
 * @next: the next one to be overwritten, which is the oldest
 * @forgotten: until when those lasted that were overwritten
 */
struct bucket {
	struct version version[VERSIONS];
	unsigned int next;
	u64 forgotten;
};

/* What a context knows of a word: it has seen a value that began then. */
struct seen {
	uintptr_t word;
	u64 since;
};

/**
 * struct view - how a context sees memory
 * @floor: its reads are not done earlier than this
 * @pending: what it has written and others do not see yet, oldest first
 * @nr: number of @pending
 * @seen: words that it has read
 */
struct view {
	u64 floor;
	struct version *pending[PENDING_MAX];
	unsigned int nr;
	struct seen seen[SEEN];
};

static struct bucket buckets[BUCKETS];
static struct view views[CONTEXTS];
static u64 now, choice;

static unsigned int bucket_of(uintptr_t word)
{
	return word / WORD * 0x9e3779b1U >> 8 & (BUCKETS - 1);
}

/* The time. Returns the number of writes that others have seen. */
u64 memory_now(void)
{
	return now;
}

/* Reads of a context cannot pass a point of time. */
void memory_not_before(unsigned int context, u64 time)
{
	if (views[context].floor < time)
		views[context].floor = time;
}

static void pending_publish(struct view *view, unsigned int index)
{
	struct version *version = view->pending[index];
	unsigned int i;

	/* Older ones of the same word first. */
	for (i = 0; i < index; i++) {
		if (view->pending[i]->word == version->word) {
			version = view->pending[i];
			index = i;
			break;
		}
	}
	machine_stats.delayed += index > 0;
	version->until = ++now;
	view->nr--;
	memmove(&view->pending[index], &view->pending[index + 1],
		(view->nr - index) * sizeof(view->pending[0]));
}

/* Let others see all that a context has written. */
void memory_flush(unsigned int context)
{
	while (views[context].nr)
		pending_publish(&views[context], 0);
}

/* Let others see some write of a context, any of them. */
void memory_drift(unsigned int context)
{
	struct view *view = &views[context];

	if (view->nr)
		pending_publish(view, below(&choice, view->nr));
}

/* The versions of a word, newest first. NULL: no more. */
static struct version *version_before(uintptr_t word, unsigned int *age)
{
	struct bucket *bucket = &buckets[bucket_of(word)];

	while (*age < VERSIONS) {
		struct version *version =
			&bucket->version[(bucket->next - 1 - (*age)++) % VERSIONS];

		if (version->word == word)
			return version;
	}
	return NULL;
}

/* Remember the value of a word that @context is about to overwrite. */
static void version_note(uintptr_t word, unsigned int context, bool pending)
{
	struct view *view = &views[context];
	struct bucket *bucket = &buckets[bucket_of(word)];
	struct version *version = &bucket->version[bucket->next++ % VERSIONS];

	if (version->word && version->until == NEVER)
		memory_flush(version->by);
	if (bucket->forgotten < version->until)
		bucket->forgotten = version->until;
	if (view->nr == PENDING_MAX)
		pending_publish(view, 0);
	*version = (struct version) {
		.word = word, .value = *(unsigned long *)word, .by = context,
		.until = pending ? NEVER : ++now,
	};
	if (pending)
		view->pending[view->nr++] = version;
}

static struct seen *seen_of(struct view *view, uintptr_t word)
{
	struct seen *seen = &view->seen[word / WORD * 0x9e3779b1U >> 12 & (SEEN - 1)];

	if (seen->word == word)
		return seen;
	/* Too few places: what is forgotten holds for all words. */
	if (view->floor < seen->since)
		view->floor = seen->since;
	*seen = (struct seen) { .word = word };
	return seen;
}

/*
 * Choose the value of a word that @context reads. Sets @since to the time when
 * that value became visible.
 */
static unsigned long version_choose(unsigned int context, uintptr_t word, u64 *since)
{
	struct view *view = &views[context];
	unsigned long value = *(unsigned long *)word;
	struct seen *seen = seen_of(view, word);
	struct version *version;
	unsigned int age = 0;

	*since = buckets[bucket_of(word)].forgotten;
	while ((version = version_before(word, &age))) {
		bool hidden = version->until == NEVER && version->by != context;
		bool passed = version->until <= view->floor || version->until <= seen->since;

		*since = version->until;
		if (version->by == context || (!hidden && (passed || below(&choice, 3))))
			break;
		value = version->value;
		*since = buckets[bucket_of(word)].forgotten;
		machine_stats.stale++;
	}
	/* Own writes that others do not see yet. */
	if (*since == NEVER)
		*since = seen->since;
	if (seen->since < *since)
		seen->since = *since;
	return value;
}

static unsigned long word_load(uintptr_t word, enum access_order order)
{
	const unsigned int context = machine_context();
	u64 since;
	unsigned long value = version_choose(context, word, &since);

	if (order == ACCESS_ORDERED)
		memory_not_before(context, since);
	return value;
}

/* A plain read gets what is in memory: nobody may have that pending. */
static void word_settle(uintptr_t word, unsigned int context)
{
	struct version *version;
	unsigned int age = 0;

	version = version_before(word, &age);
	if (!version)
		return;
	if (version->until == NEVER && version->by != context)
		memory_flush(version->by);
	if (version->until != NEVER)
		seen_of(&views[context], word)->since = version->until;
}

static bool is_ordinary(uintptr_t address)
{
	return !machine_is_stack(address);
}

static void plain_read(const void *from, unsigned int size)
{
	uintptr_t word = (uintptr_t)from & -WORD;

	if (!is_ordinary(word))
		return;
	machine_step();
	for (; word < (uintptr_t)from + size; word += WORD)
		word_settle(word, machine_context());
}

static void plain_write(void *to, unsigned int size)
{
	uintptr_t word = (uintptr_t)to & -WORD;

	if (!is_ordinary(word))
		return;
	machine_step();
	for (; word < (uintptr_t)to + size; word += WORD)
		version_note(word, machine_context(), true);
}

/*
 * A marked read.
 * @order: ACCESS_ORDERED: later reads are not done before it
 */
u64 access_load(const void *from, unsigned int size, enum access_order order)
{
	const uintptr_t word = (uintptr_t)from & -WORD;
	unsigned long words[2] = { 0 };
	u64 value = 0;

	if (!is_ordinary(word)) {
		memcpy(&value, from, size);
		return value;
	}
	machine_step();
	words[0] = word_load(word, order);
	if ((uintptr_t)from + size > word + WORD)
		words[1] = word_load(word + WORD, order);
	memcpy(&value, (char *)words + ((uintptr_t)from - word), size);
	return value;
}

/*
 * A marked write.
 * @order: ACCESS_ORDERED: others see it after all writes before it
 */
void access_store(void *to, unsigned int size, u64 value, enum access_order order)
{
	plain_write(to, size);
	if (order == ACCESS_ORDERED && is_ordinary((uintptr_t)to)) {
		/* The pending write is the newest: publish all but that. */
		struct view *view = &views[machine_context()];
		unsigned int words = size > WORD ? size / WORD : 1;

		while (view->nr > words)
			pending_publish(view, 0);
	}
	memcpy(to, &value, size);
}

/* From one word to the next, but not after @end. */
static unsigned long part_of(const char *to, const char *end)
{
	const char *next = (char *)(((uintptr_t)to & -WORD) + WORD);

	return (next < end ? next : end) - to;
}

/* memset(), word by word. Returns @to. */
void *access_fill(void *to, int byte, unsigned long size)
{
	char *at = to, *end = at + size;

	while (at < end) {
		unsigned long part = part_of(at, end);

		plain_write(at, part);
		memset(at, byte, part);
		at += part;
	}
	return to;
}

/* memcpy(), word by word. Returns @to. */
void *access_copy(void *to, const void *from, unsigned long size)
{
	char *at = to, *end = at + size;

	while (at < end) {
		unsigned long part = part_of(at, end);

		plain_read(from, part);
		plain_write(at, part);
		memcpy(at, from, part);
		at += part;
		from += part;
	}
	return to;
}

/*
 * A barrier.
 * @barrier: for reads, for writes, or for all accesses
 */
void access_barrier(enum access_barrier barrier)
{
	const unsigned int context = machine_context();

	machine_step();
	if (barrier != ACCESS_READS)
		memory_flush(context);
	if (barrier != ACCESS_WRITES)
		memory_not_before(context, now);
}

/*
 * Begin an operation that reads and writes a word at once.
 * @word: the word; the caller does the operation before the next step
 * @order: ACCESS_ORDERED: it is a full barrier
 */
void access_modify(void *word, unsigned int size, enum access_order order)
{
	const unsigned int context = machine_context();

	machine_step();
	word_settle((uintptr_t)word & -WORD, context);
	if (order == ACCESS_ORDERED) {
		memory_flush(context);
		memory_not_before(context, now);
	}
	version_note((uintptr_t)word & -WORD, context, false);
}

/* Forget all older values. */
void memory_reset(u64 seed)
{
	memset(buckets, 0, sizeof(buckets));
	memset(views, 0, sizeof(views));
	now = 1;
	choice = seed;
}

TSAN_ACCESS(read1, plain_read, 1)
TSAN_ACCESS(read2, plain_read, 2)
TSAN_ACCESS(read4, plain_read, 4)
TSAN_ACCESS(read8, plain_read, 8)
TSAN_ACCESS(read16, plain_read, 16)
TSAN_ACCESS(write1, plain_write, 1)
TSAN_ACCESS(write2, plain_write, 2)
TSAN_ACCESS(write4, plain_write, 4)
TSAN_ACCESS(write8, plain_write, 8)
TSAN_ACCESS(write16, plain_write, 16)
TSAN_ACCESS(unaligned_read1, plain_read, 1)
TSAN_ACCESS(unaligned_read2, plain_read, 2)
TSAN_ACCESS(unaligned_read4, plain_read, 4)
TSAN_ACCESS(unaligned_read8, plain_read, 8)
TSAN_ACCESS(unaligned_read16, plain_read, 16)
TSAN_ACCESS(unaligned_write1, plain_write, 1)
TSAN_ACCESS(unaligned_write2, plain_write, 2)
TSAN_ACCESS(unaligned_write4, plain_write, 4)
TSAN_ACCESS(unaligned_write8, plain_write, 8)
TSAN_ACCESS(unaligned_write16, plain_write, 16)

void __tsan_read_range(void *at, unsigned long size)
{
	plain_read(at, size);
}

void __tsan_write_range(void *at, unsigned long size)
{
	plain_write(at, size);
}

void __tsan_init(void)
{
}

void __tsan_func_entry(void *call)
{
}

void __tsan_func_exit(void)
{
}
