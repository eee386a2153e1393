/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Processes and threads that begin and end while a recording is open. System-wide tracepoints, so
 * whatever is not recorded is left at once.
 */
#ifndef CARET_PROCESS_H
#define CARET_PROCESS_H

#include "links.h"
#include "task.h"
#include "thread.h"

static __always_inline void emit_process(struct task_struct *task, __u8 status, __u32 pid,
					 __u32 parent_pid)
{
	struct process_record *record = reserve(KIND_PROCESS, sizeof(*record));

	if (!record)
		return;
	__builtin_memset(record, 0, sizeof(*record));
	record->header.kind = KIND_PROCESS;
	record->header.status = status;
	record->header.cpu = bpf_get_smp_processor_id();
	record->header.pid = pid;
	record->header.tid = pid;
	record->time_ns = bpf_ktime_get_ns();
	record->start_boottime_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	record->parent_pid = parent_pid;
	bpf_core_read_str(record->command, sizeof(record->command), &task->comm);
	/* User space has to look at the process while it is young, or at all. */
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
}

/* False if there is no room. */
static __always_inline bool list_process(struct task_struct *task, __u32 pid)
{
	__u64 start = BPF_CORE_READ(task, group_leader, start_boottime);

	if (!bpf_map_update_elem(&processes, &pid, &start, BPF_ANY))
		return true;
	count_loss(KIND_PROCESS, REASON_MAP_FULL);
	return false;
}

/*
 * Where user space decides about every program, it is listed until then: what it does first must
 * not be missed.
 */
static __always_inline bool lists_new_processes(void)
{
	return report_all_execs && (links[0] | links[1]) & LINKS_FILTER;
}

/*
 * A child that runs its parent's program. Where not all children are to be recorded user space
 * decides, as it does about every program that starts.
 */
static __always_inline void process_fork(struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_pid = BPF_CORE_READ(parent, tgid);
	__u32 child_pid = BPF_CORE_READ(child, tgid);

	if (child_pid == parent_pid)
		return;
	if (!bpf_map_lookup_elem(&processes, &parent_pid))
		return;
	/* vfork, posix_spawn: the child will only exec or exit, which is reported anyway. */
	if (!follow_children && BPF_CORE_READ(child, mm) == BPF_CORE_READ(parent, mm))
		return;
	if ((follow_children || lists_new_processes()) && !list_process(child, child_pid))
		return;
	emit_process(child, PROCESS_FORK, child_pid, parent_pid);
}

/*
 * The dynamic linker tells debuggers of a change: user space then probes bodies again. While links
 * are replaced one change may be told of twice, which does no harm.
 */
static __always_inline void process_load(struct task_struct *task, __u64 cookie)
{
	if (gate && !(links[COOKIE_SET(cookie)] & LINKS_EARLY))
		emit_process(task, PROCESS_LOAD, BPF_CORE_READ(task, tgid), 0);
}

/* Without a filter every exec is reported: any program may turn out to be a ROS 2 process. */
static __always_inline void process_exec(struct task_struct *task, __u32 old_tid)
{
	__u32 pid = BPF_CORE_READ(task, tgid);
	struct event event = {.id = EVENT_THREAD_EXIT, .pid = pid, .tid = pid};

	event.cpu = bpf_get_smp_processor_id();
	event.time_ns = bpf_ktime_get_ns();
	close_thread(&event, pid);
	if (old_tid != pid)
		close_thread(&event, old_tid);
	if (lists_new_processes())
		list_process(task, pid);
	if (report_all_execs || bpf_map_lookup_elem(&processes, &pid))
		emit_process(task, PROCESS_EXEC, pid, 0);
}

static __always_inline void process_exit(struct task_struct *task)
{
	__u32 pid = BPF_CORE_READ(task, tgid);
	__u32 tid = BPF_CORE_READ(task, pid);
	struct event event = {.id = EVENT_THREAD_EXIT, .pid = pid, .tid = tid};

	event.cpu = bpf_get_smp_processor_id();
	event.time_ns = bpf_ktime_get_ns();
	/* Afterwards its callback may have ended unseen: user space closes what is left open. */
	if (gate == GATE_OPEN)
		close_thread(&event, tid);
	/* The last thread of the process has left when none is live. */
	if (BPF_CORE_READ(task, signal, live.counter))
		return;
	if (!bpf_map_lookup_elem(&processes, &pid))
		return;
	bpf_map_delete_elem(&processes, &pid);
	emit_process(task, PROCESS_EXIT, pid, 0);
}

#endif
