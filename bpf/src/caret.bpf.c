// SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0)
/*
 * caret-bpf: CARET's tracepoints on stock ROS 2 binaries.
 *
 * One program an event, attached to the sites of a plan (uprobe_multi, or perf uprobes where the
 * kernel has none).
 *
 * Programs can be preempted: there is no per-CPU scratch, state belongs to one thread, counters are
 * atomic.
 *
 * Least kernel: 6.1 (hash maps without preallocation in tracing programs).
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "callback_probes.h"
#include "init.h"
#include "process.h"
#include "publish_probes.h"
#include "scheduling.h"
#include "scripted.h"
#include "service_probes.h"
#include "take_probes.h"
#include "wait.h"

char LICENSE[] SEC("license") = "GPL";

/* What the recorder shares: named here so that it is in the object's BTF, for bpf/abi. */
#define SHARED(kind, name) const kind name *shared_##name __attribute__((unused))

SHARED(struct, callback_record);
SHARED(struct, scheduled_callback_record);
SHARED(struct, enqueue_record);
SHARED(struct, service_record);
SHARED(struct, sim_time_record);
SHARED(struct, wait_record);
SHARED(struct, sched_record);
SHARED(struct, init_record);
SHARED(struct, raw_record);
SHARED(struct, thread_record);
SHARED(struct, process_record);
SHARED(enum, event_id);
SHARED(enum, record_kind);
SHARED(enum, callback_status);
SHARED(enum, publish_status);
SHARED(enum, service_step);
SHARED(enum, wait_status);
SHARED(enum, sched_status);
SHARED(enum, process_status);
SHARED(enum, record_flag);
SHARED(enum, message_detail);
SHARED(enum, publish_layer);
SHARED(enum, record_size);
SHARED(enum, client_identity_size);
SHARED(enum, unknown_slot);
SHARED(enum, loss_reason);
SHARED(enum, gate_position);
SHARED(enum, links_rule);
SHARED(enum, listed);
SHARED(enum, header_offset);
SHARED(enum, cookie_shift);
SHARED(enum, site_role);
SHARED(enum, site_form);
SHARED(enum, plan_unit);
SHARED(enum, stack_limit);
SHARED(enum, ring_limit);
SHARED(enum, ring_overwritten);

/* Programs of events whose arguments are those of the tracepoint. */
#define PLAIN_EVENT(name, event_id, handler)                                                       \
	SEC("uprobe.multi")                                                                        \
	int on_##name(struct pt_regs *regs)                                                        \
	{                                                                                          \
		struct thread_state *state;                                                        \
		struct event event;                                                                \
                                                                                                   \
		if (!begin_tracepoint(&event, &state, event_id, regs,                              \
				      bpf_get_attach_cookie(regs)))                                \
			return 0;                                                                  \
		emit_raw(&event);                                                                  \
		handler(state, &event);                                                            \
		return 0;                                                                          \
	}

/* The same for layers of a publish, any of which may be the last one planned. */
#define LAYER_EVENT(name, event_id, handler)                                                       \
	SEC("uprobe.multi")                                                                        \
	int on_##name(struct pt_regs *regs)                                                        \
	{                                                                                          \
		__u64 cookie = bpf_get_attach_cookie(regs);                                        \
		struct thread_state *state;                                                        \
		struct event event;                                                                \
                                                                                                   \
		if (!begin_tracepoint(&event, &state, event_id, regs, cookie))                     \
			return 0;                                                                  \
		event.last_layer = COOKIE_LAST_LAYER(cookie);                                      \
		emit_raw(&event);                                                                  \
		handler(state, &event);                                                            \
		return 0;                                                                          \
	}

LAYER_EVENT(rclcpp_publish, EVENT_RCLCPP_PUBLISH, rclcpp_publish)
PLAIN_EVENT(rclcpp_ring_buffer_dequeue, EVENT_RCLCPP_RING_BUFFER_DEQUEUE, ring_buffer_dequeue)

/* __cxa_begin_catch(exception): of threads that have shown something else before */
SEC("uprobe.multi")
int on_exception_caught(struct pt_regs *regs)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct thread_state *state;
	struct event event;

	if (!bpf_map_lookup_elem(&threads, &tid) ||
	    !begin_event(&event, &state, EVENT_EXCEPTION_CAUGHT, regs, bpf_get_attach_cookie(regs)))
		return 0;
	emit_raw(&event);
	exception_caught(state, &event);
	return 0;
}

/* rcl_set_ros_time_override(clock, nanoseconds) */
SEC("uprobe.multi")
int on_sim_time(struct pt_regs *regs)
{
	struct sim_time_record *record;
	struct thread_state *state;
	struct event event;

	if (!begin_event(&event, &state, EVENT_SIM_TIME, regs, bpf_get_attach_cookie(regs)))
		return 0;
	emit_raw(&event);
	record = reserve(KIND_SIM_TIME, sizeof(*record));
	if (!record)
		return 0;
	fill_header(&record->header, &event, KIND_SIM_TIME, 0, 0, 0);
	record->time_ns = event.time_ns;
	record->clock = event.arguments[0];
	record->sim_time_ns = event.arguments[1];
	submit(record, sizeof(*record));
	return 0;
}

/* Executor::wait_for_work(timeout): its entry, and where calls of it return to */
SEC("uprobe.multi")
int on_wait(struct pt_regs *regs)
{
	struct thread_state *state;
	struct event event;

	if (!begin_event(&event, &state, EVENT_WAIT, regs, bpf_get_attach_cookie(regs)))
		return 0;
	if (event.role != ROLE_RETURN)
		emit_raw(&event);
	wait_for_work(state, &event);
	return 0;
}

SEC("uprobe.multi")
int on_init_event(struct pt_regs *regs)
{
	return init_event(regs);
}

SEC("uprobe.multi")
int on_library_load(struct pt_regs *regs)
{
	process_load((struct task_struct *)bpf_get_current_task(), bpf_get_attach_cookie(regs));
	return 0;
}

SEC("raw_tp/sched_process_fork")
int on_sched_process_fork(struct bpf_raw_tracepoint_args *arguments)
{
	process_fork((struct task_struct *)arguments->args[0],
		     (struct task_struct *)arguments->args[1]);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int on_sched_process_exec(struct bpf_raw_tracepoint_args *arguments)
{
	process_exec((struct task_struct *)arguments->args[0], (__u32)arguments->args[1]);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_sched_process_exit(struct bpf_raw_tracepoint_args *arguments)
{
	process_exit((struct task_struct *)arguments->args[0]);
	return 0;
}
