/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for tests of calls that must not wait. They find stuck threads, wait
 * for what others do, and make root an ordinary user that may mount FUSE.
 */
#ifndef SELFTEST_PROCMAP_STALL_H
#define SELFTEST_PROCMAP_STALL_H

#include <stdbool.h>
#include <sys/types.h>
#include <linux/types.h>

#include "procmap_util.h"

bool stall_comes(const struct procmap_child *child);
bool stall_has_come(const struct procmap_child *child);
char stall_state_of(pid_t pid, pid_t tid);
int stall_wait(struct procmap_child *child);
int stall_kill(struct procmap_child *child);
int stall_start_hog(struct procmap_child *child);
int stall_idle(void);
pid_t stall_fork_files(void);
int stall_show(int maps, pid_t pid);
bool stall_sleeps_in_call(pid_t pid, pid_t tid, long nr);
bool stall_gets_stuck(pid_t pid, pid_t tid);
int stall_send_stuck(struct procmap_child *child);
bool stall_is_dead(pid_t pid);
bool stall_hangs_dying(pid_t pid);
long stall_count(const char *name);
bool stall_has_vma_locks(void);
__u64 stall_now_ns(void);
int stall_smaps_open(pid_t pid);
int stall_ask(int maps, __u64 addr, __u64 flags, struct procmap_call *call);
unsigned int stall_scaled(unsigned int nr);
unsigned int stall_vmas(unsigned int nr);
int stall_maps_many(struct procmap_child *child, void *arg);
unsigned long stall_map_limit(unsigned long wanted);
int stall_drop_root(void);

#endif /* SELFTEST_PROCMAP_STALL_H */
