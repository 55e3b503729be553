// SPDX-License-Identifier: GPL-2.0
/* process_vm_readv() and process_vm_writev() with any arguments: see fuzz.h. */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../kselftest.h"
#include "fuzz.h"

#define MAX_IOVECS	1024
#define NR_RACING	4

/* Check the whole remote arena once in so many calls. */
#define CALLS_PER_CHECK	16

/**
 * struct vector - one of the two arrays of a call, as the kernel must see it
 * @at: its address
 * @nr: the number of elements that the call is told
 * @iov: the elements; all of them if the kernel can read the array
 * @lengths: the bitwise OR of their lengths
 */
struct vector {
	__u64 at;
	__u64 nr;
	struct iovec iov[MAX_IOVECS];
	size_t lengths;
};

/**
 * struct call - one call
 * @who: PID or descriptor
 * @who_errors: the errors that @who must give; 0: it is the target
 */
struct call {
	bool write;
	int who;
	__u64 who_errors;
	unsigned long flags;
	struct vector local;
	struct vector remote;
};

/* A position in a vector. */
struct cursor {
	const struct vector *vector;
	size_t i;
	size_t done;
};

static size_t random_length(struct fuzz *fuzz)
{
	static const __u64 lengths[] = {
		0, 1, 2, 7, 8, 63, 64, 4095, 4096, 4097, 8192, 12288, 65536, 1 << 20, SSIZE_MAX,
		SSIZE_MAX - 4095, (size_t)SSIZE_MAX + 1, SIZE_MAX,
	};

	if (fuzz_chance(fuzz, 60))
		return fuzz_below(fuzz, fuzz_chance(fuzz, 50) ? 300 : 9000);
	/* The last four exceed what a call may transfer, so the call fails at once. */
	return fuzz_pick(fuzz, lengths, ARRAY_SIZE(lengths) - (fuzz_chance(fuzz, 20) ? 0 : 4));
}

static __u64 random_count(struct fuzz *fuzz)
{
	static const __u64 counts[] = { 1023, 1024, 1025, 1 << 20, ULONG_MAX };

	if (fuzz_chance(fuzz, 96))
		return fuzz_below(fuzz, 6);
	return fuzz_pick(fuzz, counts, ARRAY_SIZE(counts));
}

/* Only the first few elements have a length. */
static void random_vector(struct fuzz *fuzz, struct vector *vector,
			  const struct fuzz_arena *buffers)
{
	static const char zeroes[MAX_IOVECS * sizeof(struct iovec)];
	struct iovec iov[8];
	size_t i;

	vector->nr = random_count(fuzz);
	vector->at = (unsigned long)fuzz_address(fuzz, &fuzz->local);
	/* Only the start of the arena has space for so many elements. */
	if (vector->nr > 8 && vector->nr <= MAX_IOVECS && fuzz_chance(fuzz, 75))
		vector->at = (unsigned long)fuzz->local.at;
	for (i = 0; i < ARRAY_SIZE(iov); i++) {
		iov[i].iov_base = (void *)(unsigned long)fuzz_address(fuzz, buffers);
		iov[i].iov_len = random_length(fuzz);
	}
	if (vector->nr > ARRAY_SIZE(iov))
		fuzz_arena_poke(&fuzz->local, vector->at, zeroes,
				vector->nr < MAX_IOVECS ? vector->nr * sizeof(iov[0]) :
							  sizeof(zeroes));
	fuzz_arena_poke(&fuzz->local, vector->at, iov,
			vector->nr < ARRAY_SIZE(iov) ? vector->nr * sizeof(iov[0]) : sizeof(iov));
}

/* The two arrays must not share bytes: a local address would be taken for a remote one. */
static bool overlap(const struct vector *one, const struct vector *other)
{
	const __u64 space = MAX_IOVECS * sizeof(struct iovec);
	__u64 size = one->nr > 8 ? space : one->nr * sizeof(struct iovec);
	__u64 other_size = other->nr > 8 ? space : other->nr * sizeof(struct iovec);

	return fuzz_overlaps(one->at, size, other->at, other_size);
}

static unsigned long random_vm_flags(struct fuzz *fuzz)
{
	if (fuzz_chance(fuzz, 90))
		return fuzz_below(fuzz, 4);
	return fuzz_below(fuzz, 4) | 1UL << fuzz_below(fuzz, 8 * sizeof(long));
}

/* Choose the other process of a call: mostly the target. */
static void random_who(struct fuzz *fuzz, struct call *call)
{
	const struct fuzz_target *target = &fuzz->target;
	bool pidfd = call->flags & FUZZ_VM_PIDFD;
	static const __u64 pids[] = { 0, -1, INT_MIN, INT_MAX };

	call->who_errors = target->denied ? FUZZ_ERR(EPERM) : 0;
	if (target->life == FUZZ_DEAD)
		call->who_errors = FUZZ_ERR(ESRCH);
	call->who = pidfd ? target->pidfd : target->pid;
	if (fuzz_chance(fuzz, 93))
		return;
	if (pidfd) {
		const __u64 fds[] = { -1, -100, INT_MAX, 1000, fuzz->target.maps, 2 };

		call->who = fuzz_pick(fuzz, fds, ARRAY_SIZE(fds));
		call->who_errors = FUZZ_ERR(EBADF);
	} else {
		call->who = fuzz_pick(fuzz, pids, ARRAY_SIZE(pids));
		call->who_errors = FUZZ_ERR(ESRCH);
	}
}

/*
 * The architecture defines where user space ends and how strict the check is,
 * so ask readv(). It may be less strict with a range that is @alone.
 */
static bool is_user_range(const struct iovec *iov, bool alone)
{
	const struct iovec vector[2] = { *iov };
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return !readv(fd, vector, alone ? 1 : 2);
}

/* Read a vector as the kernel does. Returns the errors that must follow, 0: go on. */
static __u64 fetch(struct fuzz *fuzz, struct vector *vector, bool local)
{
	__u64 errors = 0;
	size_t i, got;

	vector->lengths = 0;
	if (vector->nr > MAX_IOVECS)
		return FUZZ_ERR(EINVAL);
	got = fuzz_arena_peek(&fuzz->local, vector->at, vector->iov,
			      vector->nr * sizeof(vector->iov[0])) / sizeof(vector->iov[0]);
	if (got < vector->nr)
		errors |= FUZZ_ERR(EFAULT);
	for (i = 0; i < got; i++) {
		const struct iovec *iov = &vector->iov[i];

		if ((ssize_t)iov->iov_len < 0)
			errors |= FUZZ_ERR(EINVAL);
		else if (local && !is_user_range(iov, vector->nr == 1))
			errors |= FUZZ_ERR(EFAULT);
		vector->lengths |= iov->iov_len;
	}
	return errors;
}

/* Return the bytes up to the end of a page at most; 0 at the end of the vector. */
static size_t piece(struct cursor *cursor, size_t page, __u64 *addr)
{
	while (cursor->i < cursor->vector->nr) {
		const struct iovec *iov = &cursor->vector->iov[cursor->i];
		size_t left = iov->iov_len - cursor->done, to_end;

		*addr = (unsigned long)iov->iov_base + cursor->done;
		to_end = page - (*addr & (page - 1));
		if (left)
			return left < to_end ? left : to_end;
		cursor->i++;
		cursor->done = 0;
	}
	return 0;
}

/* Expect the transferred bytes at their destination. */
static void transfer(struct fuzz *fuzz, const struct call *call, __u64 local, __u64 remote,
		     size_t size)
{
	char *here = fuzz->local.want + (local - (unsigned long)fuzz->local.at);
	size_t offset = remote - (unsigned long)fuzz->remote.at;
	char *there = fuzz->remote.want + offset;

	if (!call->write) {
		memcpy(here, there, size);
		return;
	}
	memcpy(there, here, size);
	fuzz->remote.written[offset / fuzz->remote.page] = true;
}

/*
 * A NOWAIT write may need a fault for a page that no call has written to yet.
 * Would the byte after @bytes be the first one that it wants from such a page?
 */
static bool may_need_fault(const struct fuzz *fuzz, const struct call *call, size_t bytes)
{
	struct cursor remote = { .vector = &call->remote };
	size_t size, total = 0;
	__u64 addr = 0;

	if (!call->write || !(call->flags & FUZZ_VM_NOWAIT))
		return false;
	for (;;) {
		size = piece(&remote, fuzz->remote.page, &addr);
		if (!size || total == bytes)
			break;
		total += size;
		remote.done += size;
	}
	return size && total == bytes && fuzz_arena_span(&fuzz->remote, addr, 1, FUZZ_W) &&
	       !fuzz->remote.written[(addr - (unsigned long)fuzz->remote.at) / fuzz->remote.page];
}

/*
 * Return how many bytes the kernel must transfer. With @doit, also transfer up
 * to @limit bytes in the model.
 */
static size_t walk(struct fuzz *fuzz, const struct call *call, size_t limit, bool doit)
{
	struct cursor local = { .vector = &call->local }, remote = { .vector = &call->remote };
	size_t total = 0, page = fuzz->local.page;

	for (;;) {
		__u64 here = 0, there = 0;
		size_t size = piece(&local, page, &here), other = piece(&remote, page, &there), ok;

		size = size < other ? size : other;
		if (doit && size > limit - total)
			size = limit - total;
		ok = fuzz_arena_span(&fuzz->local, here, size, call->write ? FUZZ_R : FUZZ_W);
		if (size && !fuzz_arena_span(&fuzz->remote, there, 1,
					     call->write ? FUZZ_W : FUZZ_R))
			ok = 0;
		if (doit && ok)
			transfer(fuzz, call, here, there, ok);
		total += ok;
		if (!ok || ok < size)
			return total;
		local.done += ok;
		remote.done += ok;
	}
}

/* Return the errors that may come, or FUZZ_DONE and the @bytes that must be transferred. */
static __u64 expect(struct fuzz *fuzz, struct call *call, size_t *bytes)
{
	const struct fuzz_target *target = &fuzz->target;
	__u64 who = call->flags & FUZZ_VM_PIDFD ? call->who_errors : 0, errors;

	*bytes = 0;
	if (call->flags & ~fuzz->vm_flags)
		return FUZZ_ERR(EINVAL);
	/* The ABI does not define whether the kernel checks the descriptor or the buffers first. */
	errors = fetch(fuzz, &call->local, true);
	if (errors)
		return errors | who;
	if (!call->local.lengths)
		return FUZZ_DONE | who;
	errors = fetch(fuzz, &call->remote, false);
	if (errors)
		return errors | who;
	if (!call->remote.lengths)
		return FUZZ_DONE | who;
	if (call->who_errors)
		return call->who_errors;
	if (target->life == FUZZ_EXECING)
		return FUZZ_DONE | FUZZ_ERR(ESRCH) | FUZZ_ERR(EFAULT) | FUZZ_ERR(EAGAIN) |
		       FUZZ_ERR(EPERM);
	*bytes = walk(fuzz, call, 0, false);
	errors = *bytes ? FUZZ_DONE : FUZZ_ERR(EFAULT);
	if (may_need_fault(fuzz, call, 0))
		errors |= FUZZ_ERR(EFAULT);
	if (target->life == FUZZ_DYING)
		errors |= FUZZ_ERR(ESRCH) |
			  (call->flags & FUZZ_VM_NOWAIT ? FUZZ_ERR(EAGAIN) : 0);
	return errors;
}

static long run(const struct call *call)
{
	long ret = syscall(call->write ? SYS_process_vm_writev : SYS_process_vm_readv, call->who,
			   (unsigned long)call->local.at, (unsigned long)call->local.nr,
			   (unsigned long)call->remote.at, (unsigned long)call->remote.nr,
			   call->flags);

	return ret < 0 ? -errno : ret;
}

/* Accept all local bytes that the call may have written. */
static void pass_local(struct fuzz *fuzz, const struct vector *vector)
{
	size_t i;

	for (i = 0; i < vector->nr && i < MAX_IOVECS; i++)
		fuzz_arena_pass(&fuzz->local, (unsigned long)vector->iov[i].iov_base,
				vector->iov[i].iov_len);
}

/* Do @bytes end at a page border of the remote vector, or at its end? */
static bool is_page_border(const struct fuzz *fuzz, const struct call *call, size_t bytes)
{
	struct cursor remote = { .vector = &call->remote };
	size_t size, total = 0;
	__u64 addr;

	while (total < bytes) {
		size = piece(&remote, fuzz->local.page, &addr);
		if (!size)
			return false;
		total += size;
		remote.done += size;
	}
	return total == bytes;
}

/*
 * NOWAIT does not keep the target's memory. So the memory may vanish between
 * two of the target's pages.
 */
static bool may_end_between(const struct fuzz *fuzz, const struct call *call, size_t got)
{
	return fuzz->target.life == FUZZ_DYING && call->flags & FUZZ_VM_NOWAIT && got &&
	       is_page_border(fuzz, call, got);
}

/* Not all architectures count the last bytes before a fault, although they write them. */
static bool is_right_count(const struct fuzz *fuzz, const struct call *call, size_t bytes,
			   size_t got)
{
	if (got == bytes || (got < bytes && may_end_between(fuzz, call, got)))
		return true;
	if (got && got < bytes && may_need_fault(fuzz, call, got))
		return true;
	return !fuzz->exact && got < bytes && bytes - got < 128;
}

static void pass_uncounted(struct fuzz *fuzz, const struct call *call)
{
	if (!call->write)
		pass_local(fuzz, &call->local);
	else if (fuzz->target.life == FUZZ_ALIVE)
		fuzz_arena_pass_mem(&fuzz->remote, fuzz->target.mem);
}

static bool complain(const struct call *call, size_t bytes, long ret)
{
	fprintf(stderr, "# process_vm_%sv(%d, %llu iovecs at 0x%llx, %llu iovecs at 0x%llx,",
		call->write ? "write" : "read", call->who, call->local.nr, call->local.at,
		call->remote.nr, call->remote.at);
	fprintf(stderr, " 0x%lx): %ld, must be %zu\n", call->flags, ret, bytes);
	return false;
}

static bool check_remote(struct fuzz *fuzz)
{
	const struct fuzz_target *target = &fuzz->target;

	if (target->life != FUZZ_ALIVE || !target->has_arena ||
	    *fuzz->calls % CALLS_PER_CHECK)
		return true;
	return fuzz_arena_check_mem(&fuzz->remote, target->mem);
}

static void lie(struct fuzz *fuzz, long *ret)
{
	if (fuzz->lie == FUZZ_LIE_RESULT)
		*ret = *ret > 0 ? *ret - 1 : -EAGAIN;
	if (fuzz->lie == FUZZ_LIE_OUTSIDE)
		fuzz->local.plain[6 * fuzz->local.page + 5] ^= 1;
	if (fuzz->lie == FUZZ_LIE_ANSWER && *ret > 0)
		fuzz->remote.want[fuzz->remote.page - 1] ^= 1;
}

static bool check(struct fuzz *fuzz, const struct call *call, size_t bytes, long ret)
{
	if (fuzz->target.life == FUZZ_EXECING) {
		if (ret > 0)
			pass_local(fuzz, &call->local);
	} else if (ret >= 0) {
		if (!is_right_count(fuzz, call, bytes, ret))
			return complain(call, bytes, ret);
		walk(fuzz, call, ret, true);
		if ((size_t)ret < bytes && !fuzz->exact)
			pass_uncounted(fuzz, call);
	}
	if (fuzz_arena_check(&fuzz->local, "local") && check_remote(fuzz))
		return true;
	return complain(call, bytes, ret);
}

/*
 * Make an array that the kernel cannot overwrite. Whatever mix of two arrays it
 * reads, the addresses belong to an arena.
 */
static void safe_vector(struct fuzz *fuzz, struct vector *vector, const struct fuzz_arena *buffers,
			size_t offset, struct iovec *iov)
{
	size_t i;

	vector->nr = NR_RACING;
	vector->at = (unsigned long)fuzz->local.at + 2 * fuzz->local.page + offset;
	for (i = 0; i < 2 * NR_RACING; i++) {
		iov[i].iov_base = (void *)(unsigned long)fuzz_address(fuzz, buffers);
		iov[i].iov_len = fuzz_below(fuzz, 5000);
	}
	fuzz_arena_poke(&fuzz->local, vector->at, iov, NR_RACING * sizeof(iov[0]));
}

/* Race two arrays of iovecs at one place. The kernel may see each byte of either. */
static bool race(struct fuzz *fuzz, struct call *call)
{
	struct iovec iov[2 * NR_RACING];
	bool good = true;
	unsigned int i;

	safe_vector(fuzz, &call->remote, &fuzz->remote, 2048, iov);
	safe_vector(fuzz, &call->local, &fuzz->local, 0, iov);
	fuzz_race(fuzz->local.plain + 2 * fuzz->local.page, iov, iov + NR_RACING,
		  NR_RACING * sizeof(iov[0]));
	for (i = 0; i < 16 && good; i++)
		good = fuzz_result(fuzz, FUZZ_DONE | FUZZ_ERR(EFAULT) | FUZZ_ERR(EINVAL) |
				   FUZZ_ERR(EAGAIN) | call->who_errors, run(call), "process_vm");
	fuzz_race_pause();
	fuzz_arena_poke(&fuzz->local, call->local.at, iov, NR_RACING * sizeof(iov[0]));
	fuzz_arena_pass(&fuzz->local, (unsigned long)fuzz->local.at, fuzz->local.size);
	if (call->write)
		fuzz_arena_pass_mem(&fuzz->remote, fuzz->target.mem);
	return good && fuzz_arena_check(&fuzz->local, "local") && check_remote(fuzz);
}

/*
 * Do one call of process_vm_readv() or process_vm_writev(). Returns false after
 * an illegal result, with a complaint on stderr.
 */
bool fuzz_vm(struct fuzz *fuzz)
{
	static struct call call;
	__u64 allowed;
	size_t bytes;
	long ret;

	/* Do not write to a new image: nobody knows what that would overwrite. */
	call.write = fuzz->target.life != FUZZ_EXECING && fuzz_chance(fuzz, 50);
	call.flags = random_vm_flags(fuzz);
	random_who(fuzz, &call);
	do {
		random_vector(fuzz, &call.remote, &fuzz->remote);
		random_vector(fuzz, &call.local, &fuzz->local);
	} while (overlap(&call.local, &call.remote));
	if (fuzz->racing) {
		call.flags &= fuzz->vm_flags;
		return race(fuzz, &call);
	}
	allowed = expect(fuzz, &call, &bytes);
	ret = run(&call);
	lie(fuzz, &ret);
	return fuzz_result(fuzz, allowed, ret, "process_vm") && check(fuzz, &call, bytes, ret);
}
