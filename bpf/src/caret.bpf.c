// SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0)
/*
 * caret-bpf: CARET's tracepoints on stock ROS 2 binaries.
 *
 * One program an event, attached to the sites of a plan (uprobe_multi, or perf uprobes where the
 * kernel has none). The attach cookie says what a site needs beside its program:
 *
 *	bits  0-7	event id
 *	bits  8-15	form: where the arguments are
 *	bit  16		the publish closes here, no later layer is planned
 *	bits 32-47	parameter: a byte offset
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

#include "registers.h"
#include "dispatch.h"
#include "init.h"
#include "process.h"

char LICENSE[] SEC("license") = "GPL";

/* Only emitted through pointers: named here so that their layout is in the object's BTF. */
const struct callback_record *layout_of_callback_record __attribute__((unused));
const struct enqueue_record *layout_of_enqueue_record __attribute__((unused));
const struct init_record *layout_of_init_record __attribute__((unused));
const struct raw_record *layout_of_raw_record __attribute__((unused));
const struct process_record *layout_of_process_record __attribute__((unused));

#define COOKIE_EVENT(cookie)	  ((cookie)&0xff)
#define COOKIE_FORM(cookie)	  (((cookie) >> 8) & 0xff)
#define COOKIE_LAST_LAYER(cookie) (((cookie) >> 16) & 1)
#define COOKIE_PARAMETER(cookie)  (((cookie) >> 32) & 0xffff)

#define FORM_RMW_PUBLISH_MESSAGE_ONLY 1

#define FORM_STAMP_CACHE_CHANGE	   0
#define FORM_STAMP_DDS_WRITE_IMPL  1
#define FORM_STAMP_DDS_WRITE_STAMP 2

/* False when this hit is not to be recorded. */
static __always_inline bool begin_event(struct event *event, __u8 id, struct pt_regs *regs)
{
	__u64 pid_tid;
	__u32 pid;

	if (!gate)
		return false;
	pid_tid = bpf_get_current_pid_tgid();
	pid = pid_tid >> 32;
	if (filter_processes && !bpf_map_lookup_elem(&processes, &pid))
		return false;
	event->pid = pid;
	event->tid = pid_tid;
	event->id = id;
	event->time_ns = bpf_ktime_get_ns();
	event->cpu = bpf_get_smp_processor_id();
	event->stack_pointer = STACK_POINTER(regs);
	event->last_layer = 0;
	event->has_stamp = 0;
	event->has_message = 0;
	event->arguments[0] = ARGUMENT_1(regs);
	event->arguments[1] = ARGUMENT_2(regs);
	event->arguments[2] = ARGUMENT_3(regs);
	event->arguments[3] = ARGUMENT_4(regs);
	event->arguments[4] = ARGUMENT_5(regs);
	return true;
}

/* Programs of events whose arguments are those of the tracepoint. */
#define PLAIN_EVENT(name, event_id)                                                                \
	SEC("uprobe.multi")                                                                        \
	int on_##name(struct pt_regs *regs)                                                        \
	{                                                                                          \
		struct event event;                                                                \
                                                                                                   \
		if (begin_event(&event, event_id, regs))                                           \
			dispatch(&event);                                                          \
		return 0;                                                                          \
	}

/* The same for layers of a publish, any of which may be the last one planned. */
#define LAYER_EVENT(name, event_id)                                                                \
	SEC("uprobe.multi")                                                                        \
	int on_##name(struct pt_regs *regs)                                                        \
	{                                                                                          \
		struct event event;                                                                \
                                                                                                   \
		if (!begin_event(&event, event_id, regs))                                          \
			return 0;                                                                  \
		event.last_layer = COOKIE_LAST_LAYER(bpf_get_attach_cookie(regs));                 \
		dispatch(&event);                                                                  \
		return 0;                                                                          \
	}

PLAIN_EVENT(callback_start, EVENT_CALLBACK_START)
PLAIN_EVENT(callback_end, EVENT_CALLBACK_END)
LAYER_EVENT(rclcpp_publish, EVENT_RCLCPP_PUBLISH)
LAYER_EVENT(rcl_publish, EVENT_RCL_PUBLISH)
PLAIN_EVENT(rclcpp_intra_publish, EVENT_RCLCPP_INTRA_PUBLISH)
PLAIN_EVENT(rclcpp_ring_buffer_enqueue, EVENT_RING_BUFFER_ENQUEUE)
PLAIN_EVENT(rclcpp_ring_buffer_dequeue, EVENT_RING_BUFFER_DEQUEUE)
PLAIN_EVENT(rmw_take, EVENT_RMW_TAKE)
PLAIN_EVENT(executor_execute, EVENT_EXECUTOR_EXECUTE)

SEC("uprobe.multi")
int on_rmw_publish(struct pt_regs *regs)
{
	struct event event;
	__u64 cookie;

	if (!begin_event(&event, EVENT_RMW_PUBLISH, regs))
		return 0;
	cookie = bpf_get_attach_cookie(regs);
	event.last_layer = COOKIE_LAST_LAYER(cookie);
	if (COOKIE_FORM(cookie) == FORM_RMW_PUBLISH_MESSAGE_ONLY) {
		event.arguments[1] = event.arguments[0];
		event.arguments[0] = 0;
		event.arguments[2] = 0;
	} else {
		event.has_stamp = 1;
	}
	dispatch(&event);
	return 0;
}

/* Fast DDS: rtps::Time_t, whose third word is the nanosecond that the reader will recover. */
static __always_inline bool read_cache_change_stamp(__u64 address, __s64 *stamp)
{
	struct {
		__s32 seconds;
		__u32 fraction;
		__u32 nanoseconds;
	} time;

	if (bpf_probe_read_user(&time, sizeof(time), (const void *)address))
		return false;
	*stamp = (__s64)time.seconds * 1000000000 + time.nanoseconds;
	return true;
}

SEC("uprobe.multi")
int on_dds_bind_addr_to_stamp(struct pt_regs *regs)
{
	struct event event;
	__u64 cookie;
	__s64 stamp;

	if (!begin_event(&event, EVENT_DDS_BIND_ADDR_TO_STAMP, regs))
		return 0;
	cookie = bpf_get_attach_cookie(regs);
	event.last_layer = COOKIE_LAST_LAYER(cookie);
	switch (COOKIE_FORM(cookie)) {
	case FORM_STAMP_CACHE_CHANGE: /* set_fragments(this, change) */
		if (!read_cache_change_stamp(event.arguments[1] + COOKIE_PARAMETER(cookie), &stamp))
			return 0; /* the publish closes without its last layer */
		event.arguments[0] = 0;
		break;
	case FORM_STAMP_DDS_WRITE_IMPL:	 /* dds_write_impl(writer, data, timestamp, action) */
	case FORM_STAMP_DDS_WRITE_STAMP: /* dds_write_ts(writer, data, timestamp) */
		event.arguments[0] = event.arguments[1];
		event.has_message = 1;
		stamp = event.arguments[2];
		break;
	default:
		return 0;
	}
	event.arguments[1] = stamp;
	dispatch(&event);
	return 0;
}

SEC("uprobe.multi")
int on_init_event(struct pt_regs *regs)
{
	struct event event;

	if (begin_event(&event, COOKIE_EVENT(bpf_get_attach_cookie(regs)), regs))
		emit_init(&event);
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

/* Feeds one scripted event to the state machine, so that tests can compare it with its model. */
SEC("syscall")
int run_event(struct event *scripted)
{
	struct event event;

	__builtin_memcpy(&event, scripted, sizeof(event));
	dispatch(&event);
	return 0;
}
