/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/* What is read of the kernel's own structures. libbpf's relocations find the fields' places. */
#ifndef CARET_TASK_H
#define CARET_TASK_H

#include "maps.h"

struct signal_live {
	int counter;
} __attribute__((preserve_access_index));

struct signal_struct {
	struct signal_live live;
} __attribute__((preserve_access_index));

struct task_struct {
	int pid;
	int tgid;
	__u64 start_time; /* CLOCK_MONOTONIC */
	__u64 start_boottime;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct signal_struct *signal;
	int prio;
	char comm[16];
	int : 32;
	unsigned long nvcsw; /* switches away, because it blocked and otherwise */
	unsigned long nivcsw;
} __attribute__((preserve_access_index));

/* Whether the current thread has been recorded since it began. */
static __always_inline bool is_seen_from_its_beginning(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(task, start_time) > open_since_ns;
}

#endif
