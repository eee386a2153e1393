/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Where the time of callbacks goes (record --sched): what their threads spend off the CPU, as one
 * that could run, one that is blocked, and one that is awake again and does not run yet. All else
 * of a callback's time is on the CPU.
 *
 * Tracepoints of the scheduler add up what each watched thread spends off the CPU. A callback takes
 * the sums at its start, and again at its end: its own are the differences. Probes begin to watch a
 * thread, by its task storage; nothing else does, so a switch of any other thread finds nothing.
 *
 * The kernel counts the switches of a thread itself. Sums count for nothing unless they are of just
 * as many: a program may miss a switch (on 6.1 a task storage cannot be had on a CPU on which a
 * thread was interrupted while it looked for its own). Nor do they if a thread that had blocked
 * runs again and nobody was seen to wake it.
 *
 * With --sched=full each time off the CPU of a watched thread has a record, too, which says who had
 * to do with it. Switches that were missed are counted as losses.
 *
 * Least kernel: 6.1 (sched_switch tells the state of the thread that leaves its CPU).
 */
#ifndef CARET_SCHEDULING_H
#define CARET_SCHEDULING_H

#include "emit.h"
#include "task.h"

/* Whether sums are taken. */
const volatile bool scheduling = false;
/* Whether there is a record of each time off the CPU, too. */
const volatile bool sched_records = false;
/* Only processes in `processes` are recorded: others were removed. */
const volatile bool only_listed = false;

/* Where a watched thread is. */
#define ON_CPU	     0
#define OFF_RUNNABLE 1
#define OFF_BLOCKED  2

/*
 * So long before a thread is off the CPU its waker may come: it waits until the thread has left,
 * which first looks for others that could run.
 */
#define EARLIEST_WAKING_NS 1000000

/* What a callback has found at its start. */
struct scheduling_start {
	struct scheduling sums;
	__u64 start_ns; /* of the callback; 0: the sums are not known */
	__u64 breaks;
};

/* A watched thread. Only the CPU that switches from it or to it writes, and the thread itself. */
struct watched_thread {
	struct scheduling sums;
	__u64 switched_in_ns;
	__u64 switched_out_ns;
	__u64 waking_ns; /* woken since it was switched in; 0: not. Its waker writes it. */
	__u64 switches;	 /* as the kernel counts them */
	__u64 breaks;	 /* changes whenever sums before and after do not go together */
	/* The kernel's count at the last switch away that was seen, and at the one that it has come
	   back from. 0: there was none. */
	__u64 switched;
	__u64 came_back;
	__u32 place; /* ON_CPU, OFF_... */
	__u32 cpu;   /* that it left */
	struct other_thread preempter;
	struct other_thread waker;
	struct scheduling_start starts[MAX_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct watched_thread);
} watched_threads SEC(".maps");

/* The kernel's own count, of a thread that is on a CPU: its switches away. */
static __always_inline __u64 count_switches(struct task_struct *task)
{
	return *(volatile unsigned long *)&task->nvcsw + *(volatile unsigned long *)&task->nivcsw;
}

/* The current thread is on a CPU, and from now on its sums are complete. */
static __always_inline void watch_anew(struct watched_thread *watched, struct task_struct *task)
{
	watched->breaks++;
	watched->place = ON_CPU;
	watched->switched_in_ns = 0;
	watched->switches = count_switches(task);
}

/*
 * Begins to watch the current thread: what it is off the CPU for is known from its next callback
 * on. Where nothing comes before its first callback, that one begins to.
 */
static __noinline int watch_thread(struct thread_state *state)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct watched_thread *watched;

	if (!state || state->is_watched)
		return 0;
	watched = bpf_task_storage_get(&watched_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!watched)
		return 0;
	watch_anew(watched, task);
	state->is_watched = true;
	return 0;
}

/*
 * The sums of the current thread as they were at an instant that it has just seen. They are not
 * known if it was off the CPU since then, or is while they are copied; false then.
 */
static __always_inline bool take_sums(struct watched_thread *watched, struct task_struct *task,
				      __u64 time_ns, struct scheduling *sums)
{
	__u64 switches = count_switches(task);

	if (watched->switches != switches) {
		watch_anew(watched, task);
		return false;
	}
	barrier();
	*sums = watched->sums;
	barrier();
	return watched->switched_in_ns <= time_ns && count_switches(task) == switches;
}

/* A callback has started, with so many open around it. */
static __noinline int scheduling_at_start(__u32 depth, __u64 start_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scheduling_start *start;
	struct watched_thread *watched;

	watched = bpf_task_storage_get(&watched_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!watched)
		return 0;
	start = &watched->starts[depth & (MAX_DEPTH - 1)];
	start->start_ns = take_sums(watched, task, start_ns, &start->sums) ? start_ns : 0;
	start->breaks = watched->breaks;
	return 0;
}

/* The callback ends: what it was off the CPU for. False if it is not known. */
static __noinline int scheduling_at_end(__u32 depth, __u64 start_ns, __u64 end_ns,
					struct scheduling *own)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct watched_thread *watched;
	struct scheduling_start *start;

	watched = bpf_task_storage_get(&watched_threads, task, 0, 0);
	if (!watched || !own || !take_sums(watched, task, end_ns, own))
		return false;
	start = &watched->starts[depth & (MAX_DEPTH - 1)];
	if (start->start_ns != start_ns || start->breaks != watched->breaks)
		return false;
	own->preempted_ns -= start->sums.preempted_ns;
	own->blocked_ns -= start->sums.blocked_ns;
	own->wakeup_ns -= start->sums.wakeup_ns;
	own->preemptions -= start->sums.preemptions;
	own->migrations -= start->sums.migrations;
	return true;
}

static __always_inline void note_other(struct other_thread *other, struct task_struct *task)
{
	other->pid = task->tgid;
	other->tid = task->pid;
	other->priority = task->prio;
	bpf_core_read(other->command, sizeof(other->command), &task->comm);
}

/* The state of a thread that is recorded now: a target may have been removed, or not be added yet.
 */
static __always_inline const struct thread_state *recorded_thread(struct task_struct *task)
{
	__u32 pid = task->tgid, tid = task->pid;
	__u64 *listed;

	if (gate != GATE_OPEN)
		return NULL;
	if (only_listed) {
		listed = bpf_map_lookup_elem(&processes, &pid);
		if (!listed || *listed == LISTED_FOR_ENTITIES)
			return NULL;
	}
	return bpf_map_lookup_elem(&threads, &tid);
}

/*
 * Times off the CPU of which nothing is told: those whose end was not seen, and those that the
 * kernel counts beside. It has counted the switch that is under way.
 */
static __always_inline void count_missed(struct watched_thread *watched, struct task_struct *task)
{
	__u64 switches = count_switches(task), missed = 0;

	if (watched->switched)
		missed = switches - watched->switched - 1 +
			 (watched->came_back != watched->switched);
	watched->switched = switches;
	if (missed && recorded_thread(task))
		count_losses(KIND_SCHED, REASON_MISSED, missed);
}

/* A time off the CPU is over. */
static __always_inline void emit_sched(const struct watched_thread *watched,
				       struct task_struct *task, __u64 waking_ns, __u64 in_ns)
{
	const struct thread_state *state = recorded_thread(task);
	bool is_blocked = watched->place == OFF_BLOCKED;
	const struct callback_frame *frame;
	struct sched_record *record;

	if (!state)
		return;
	record = reserve(KIND_SCHED, sizeof(*record));
	if (!record)
		return;
	__builtin_memset(record, 0, sizeof(*record));
	record->header.kind = KIND_SCHED;
	record->header.status = is_blocked ? SCHED_BLOCKED : SCHED_PREEMPTED;
	record->header.cpu = bpf_get_smp_processor_id();
	record->header.pid = task->tgid;
	record->header.tid = task->pid;
	record->out_ns = watched->switched_out_ns;
	record->in_ns = in_ns;
	record->out_cpu = watched->cpu;
	record->priority = task->prio;
	if (!is_blocked) {
		record->other = watched->preempter;
	} else if (waking_ns) {
		record->waking_ns = waking_ns < in_ns ? waking_ns : in_ns;
		record->other = watched->waker;
	}
	if (state->depth) {
		record->header.depth = state->depth;
		if (state->overflow) {
			record->header.flags = FLAG_PARENT_UNKNOWN;
		} else {
			frame = &state->frames[(state->depth - 1) & (MAX_DEPTH - 1)];
			record->callback = frame->callback;
			record->callback_start_ns = frame->start_ns;
		}
	}
	submit(record, sizeof(*record));
}

static __always_inline void switch_out(struct watched_thread *watched, struct task_struct *task,
				       struct task_struct *next, __u64 now, bool is_runnable)
{
	if (sched_records) {
		count_missed(watched, task);
		if (is_runnable)
			note_other(&watched->preempter, next);
	}
	/* A waking of long ago is that of a thread that has not blocked after all. */
	if (now - watched->waking_ns > EARLIEST_WAKING_NS)
		watched->waking_ns = 0;
	watched->switched_out_ns = now;
	watched->cpu = bpf_get_smp_processor_id();
	watched->place = is_runnable ? OFF_RUNNABLE : OFF_BLOCKED;
}

/*
 * The waker of a thread may have come before it was out. Where none was seen, it is not known how
 * long it was blocked.
 */
static __always_inline void switch_in(struct watched_thread *watched, struct task_struct *task,
				      __u64 now)
{
	__u64 out = watched->switched_out_ns, waking = watched->waking_ns, woken = waking;

	watched->waking_ns = 0;
	if (watched->place == ON_CPU) /* it was not seen to leave */
		return;
	if (now < out) /* of two CPUs, which read the clock at the same time */
		now = out;
	if (watched->place == OFF_RUNNABLE) {
		watched->sums.preempted_ns += now - out;
		watched->sums.preemptions++;
	} else if (woken) {
		if (woken < out)
			woken = out;
		if (woken > now)
			woken = now;
		watched->sums.blocked_ns += woken - out;
		watched->sums.wakeup_ns += now - woken;
	} else {
		watched->breaks++;
	}
	if (watched->cpu != bpf_get_smp_processor_id())
		watched->sums.migrations++;
	if (sched_records)
		emit_sched(watched, task, waking, now);
	watched->came_back = watched->switched;
	watched->switched_in_ns = now;
	watched->place = ON_CPU;
	watched->switches++;
}

/* sched_switch(preempt, previous, next, state of the previous): a thread with state 0 can run. */
SEC("tp_btf/sched_switch")
int on_sched_switch(__u64 *arguments)
{
	struct task_struct *previous = (struct task_struct *)arguments[1];
	struct task_struct *next = (struct task_struct *)arguments[2];
	bool is_runnable = arguments[0] & 1 || !(__u32)arguments[3];
	struct watched_thread *watched;

	watched = bpf_task_storage_get(&watched_threads, previous, 0, 0);
	if (watched)
		switch_out(watched, previous, next, bpf_ktime_get_ns(), is_runnable);
	watched = bpf_task_storage_get(&watched_threads, next, 0, 0);
	if (watched)
		switch_in(watched, next, bpf_ktime_get_ns());
	return 0;
}

/* sched_waking(thread): somebody wakes it. One that runs has not blocked after all. */
SEC("tp_btf/sched_waking")
int on_sched_waking(__u64 *arguments)
{
	struct task_struct *task = (struct task_struct *)arguments[0];
	struct watched_thread *watched = bpf_task_storage_get(&watched_threads, task, 0, 0);

	if (!watched || task == bpf_get_current_task_btf())
		return 0;
	if (sched_records)
		note_other(&watched->waker, bpf_get_current_task_btf());
	watched->waking_ns = bpf_ktime_get_ns();
	return 0;
}

#endif
