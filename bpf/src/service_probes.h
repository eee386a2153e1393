/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Probes of rcl's service functions. What a call gives back (the number of a request, the header of
 * what was taken) is read where the rmw function has just returned to rcl: no return probe, which
 * kills sandboxed processes on some kernels.
 */
#ifndef CARET_SERVICE_PROBES_H
#define CARET_SERVICE_PROBES_H

#include "probe.h"
#include "service.h"

#define RMW_RET_OK 0

struct request_id {
	__u64 writer_guid[2];
	__s64 sequence;
};

/* rmw_service_info_t */
struct service_info {
	__s64 source_timestamp;
	__s64 received_timestamp;
	struct request_id request_id;
};

/* A service function of rcl begins: (handle, what it gives back, message) after its own order. */
static __always_inline void open_service_call(struct thread_state *state, struct event *event,
					      __u64 message, __u64 values, bool takes)
{
	struct service_info info = {};
	struct service_call *call;

	if (has_state(state, KIND_SERVICE)) {
		call = &state->service_call;
		call->open = CALL_OPEN;
		if (takes && bpf_probe_read_user(&info, sizeof(info), (const void *)values))
			call->open = CALL_UNREAD;
		call->handle = event->arguments[0];
		call->message = message;
		call->values = values;
		call->time_ns = event->time_ns;
		call->gid[0] = info.request_id.writer_guid[0];
		call->gid[1] = info.request_id.writer_guid[1];
		call->sequence = info.request_id.sequence;
	}
	service_call(state, event);
}

/*
 * The open call of the thread, whose rmw function has just returned; NULL if there is none, or if
 * the function failed. was_needed says that what was there before must be known.
 */
static __always_inline struct service_call *
close_service_call(struct thread_state *state, struct pt_regs *regs, bool was_needed)
{
	__u64 open;

	if (!state || !state->service_call.open)
		return NULL;
	open = state->service_call.open;
	state->service_call.open = 0;
	if ((__u32)RETURN_VALUE(regs) != RMW_RET_OK)
		return NULL;
	if (open == CALL_UNREAD && was_needed) {
		/* Whether something was taken is not to be told. */
		count_loss(KIND_SERVICE, REASON_FAULT);
		return NULL;
	}
	return &state->service_call;
}

/*
 * The header of what was taken. A variable on rcl's stack says whether anything was. Where its
 * place is not known the header does, which is as before when there was nothing to take, and when
 * memory that is used again holds the same request's.
 */
static __always_inline bool read_taken(struct thread_state *state, struct event *event,
				       struct pt_regs *regs, __u64 cookie)
{
	__u64 answer = COOKIE_PARAMETER(cookie);
	struct service_call *call = close_service_call(state, regs, !answer);
	struct service_info info;
	__u8 taken = 1;

	if (!call)
		return false;
	if ((answer && bpf_probe_read_user(&taken, sizeof(taken),
					   (const void *)(STACK_POINTER(regs) + answer - 1))) ||
	    bpf_probe_read_user(&info, sizeof(info), (const void *)call->values)) {
		count_loss(KIND_SERVICE, REASON_FAULT);
		return false;
	}
	if (!taken)
		return false;
	if (!answer && info.request_id.sequence == call->sequence &&
	    info.request_id.writer_guid[0] == call->gid[0] &&
	    info.request_id.writer_guid[1] == call->gid[1])
		return false;
	if (answer)
		event->flags |= FLAG_TAKEN;
	event->arguments[0] = call->handle;
	event->arguments[1] = call->message;
	event->arguments[2] = info.request_id.sequence;
	event->arguments[3] = info.source_timestamp;
	event->arguments[4] = 0;
	event->gid[0] = info.request_id.writer_guid[0];
	event->gid[1] = info.request_id.writer_guid[1];
	return true;
}

/* rcl_send_request(client, request, int64_t *sequence_number): sent when it began, numbered now */
SEC("uprobe.multi")
int on_request_sent(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct service_call *call;
	struct thread_state *state;
	struct event event;
	__u64 sequence;

	if (!begin_event(&event, &state, EVENT_REQUEST_SENT, regs, cookie))
		return 0;
	if (COOKIE_FORM(cookie) == FORM_SERVICE_ENTRY) {
		open_service_call(state, &event, event.arguments[1], event.arguments[2], false);
		return 0;
	}
	call = close_service_call(state, regs, true);
	if (!call)
		return 0;
	if (!read_word(&sequence, call->values)) {
		count_loss(KIND_SERVICE, REASON_FAULT);
		return 0;
	}
	event.time_ns = call->time_ns;
	event.arguments[0] = call->handle;
	event.arguments[1] = call->message;
	event.arguments[2] = sequence;
	event.arguments[3] = 0;
	event.arguments[4] = 0;
	emit_raw(&event);
	service_step(state, &event, SERVICE_REQUEST_SENT);
	return 0;
}

/* Programs of rcl_take_..._with_info(handle, rmw_service_info_t *, message). */
#define SERVICE_TAKEN(name, event_id, handle)                                                      \
	SEC("uprobe.multi")                                                                        \
	int on_##name(struct pt_regs *regs)                                                        \
	{                                                                                          \
		__u64 cookie = bpf_get_attach_cookie(regs);                                        \
		struct thread_state *state;                                                        \
		struct event event;                                                                \
                                                                                                   \
		if (!begin_event(&event, &state, event_id, regs, cookie))                          \
			return 0;                                                                  \
		if (COOKIE_FORM(cookie) == FORM_SERVICE_ENTRY) {                                   \
			open_service_call(state, &event, event.arguments[2], event.arguments[1],   \
					  true);                                                   \
		} else if (read_taken(state, &event, regs, cookie)) {                              \
			emit_raw(&event);                                                          \
			handle;                                                                    \
		}                                                                                  \
		return 0;                                                                          \
	}

SERVICE_TAKEN(request_taken, EVENT_REQUEST_TAKEN, request_taken(state, &event))
SERVICE_TAKEN(response_taken, EVENT_RESPONSE_TAKEN,
	      service_step(state, &event, SERVICE_RESPONSE_TAKEN))

/* rcl_send_response(service, rmw_request_id_t *, response) */
SEC("uprobe.multi")
int on_response_sent(struct pt_regs *regs)
{
	struct request_id id = {};
	struct thread_state *state;
	struct event event;
	bool unread;

	if (!begin_event(&event, &state, EVENT_RESPONSE_SENT, regs, bpf_get_attach_cookie(regs)))
		return 0;
	unread = bpf_probe_read_user(&id, sizeof(id), (const void *)event.arguments[1]);
	event.arguments[1] = event.arguments[2];
	event.arguments[2] = id.sequence;
	event.arguments[3] = 0;
	event.arguments[4] = 0;
	event.gid[0] = id.writer_guid[0];
	event.gid[1] = id.writer_guid[1];
	service_call(state, &event);
	if (unread) { /* without its number nothing can be said of a response */
		count_loss(KIND_SERVICE, REASON_FAULT);
		return 0;
	}
	emit_raw(&event);
	service_step(state, &event, SERVICE_RESPONSE_SENT);
	return 0;
}

/* Where calls of Executor::execute_service return to. A thread that has shown nothing is in none.
 */
SEC("uprobe.multi")
int on_service_executed(struct pt_regs *regs)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct thread_state *state;
	struct event event;

	if (!bpf_map_lookup_elem(&threads, &tid) ||
	    !begin_event(&event, &state, EVENT_SERVICE_EXECUTED, regs, bpf_get_attach_cookie(regs)))
		return 0;
	for (int i = 0; i < RAW_ARGUMENTS; i++)
		event.arguments[i] = 0; /* what the registers hold is left over */
	emit_raw(&event);
	service_executed(state, &event);
	return 0;
}

#endif
