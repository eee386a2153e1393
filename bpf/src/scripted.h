/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The tests' entrances: they feed the state machine, so that it can be compared with its model.
 * What is recorded never passes here. Each probe calls the handler of its own event.
 */
#ifndef CARET_SCRIPTED_H
#define CARET_SCRIPTED_H

#include "callback.h"
#include "callers.h"
#include "publish.h"
#include "ring_history.h"
#include "service.h"
#include "take.h"
#include "wait.h"

static __always_inline void dispatch(struct thread_state *state, const struct event *event)
{
	switch (event->id) {
	case EVENT_CALLBACK_START:
		callback_start(state, event);
		break;
	case EVENT_CALLBACK_END:
		callback_end(state, event);
		break;
	case EVENT_RCLCPP_PUBLISH:
		rclcpp_publish(state, event);
		break;
	case EVENT_RCL_PUBLISH:
		rcl_publish(state, event);
		break;
	case EVENT_RMW_PUBLISH:
		rmw_publish(state, event);
		break;
	case EVENT_DDS_BIND_ADDR_TO_STAMP:
		dds_bind_addr_to_stamp(state, event);
		break;
	case EVENT_RCLCPP_INTRA_PUBLISH:
		rclcpp_intra_publish(state, event);
		break;
	case EVENT_RCLCPP_RING_BUFFER_ENQUEUE:
		ring_buffer_enqueue(state, event);
		break;
	case EVENT_RCLCPP_RING_BUFFER_DEQUEUE:
		ring_buffer_dequeue(state, event);
		break;
	case EVENT_RMW_TAKE:
		rmw_take(state, event);
		break;
	case EVENT_EXECUTOR_EXECUTE:
		executor_execute(state, event);
		break;
	case EVENT_EXCEPTION_CAUGHT:
		exception_caught(state, event);
		break;
	case EVENT_SERVICE_EXECUTED:
		service_executed(state, event);
		break;
	case EVENT_SERVICE_CALL:
		service_call(state, event);
		break;
	case EVENT_REQUEST_SENT:
		service_step(state, event, SERVICE_REQUEST_SENT);
		break;
	case EVENT_REQUEST_TAKEN:
		request_taken(state, event);
		break;
	case EVENT_RESPONSE_SENT:
		service_step(state, event, SERVICE_RESPONSE_SENT);
		break;
	case EVENT_RESPONSE_TAKEN:
		service_step(state, event, SERVICE_RESPONSE_TAKEN);
		break;
	case EVENT_WAIT:
		wait_for_work(state, event);
		break;
	case EVENT_THREAD_EXIT:
		close_thread(event, event->tid);
		break;
	}
}

/* Feeds one scripted event to the state machine. */
SEC("syscall")
int run_event(struct event *scripted)
{
	struct thread_state *state = NULL;
	struct event event;

	__builtin_memcpy(&event, scripted, sizeof(event));
	if (event.id != EVENT_THREAD_EXIT) { /* which is no hit */
		state = get_thread(&event);
		count_hit(state, &event, event.id);
		if (is_repeated(state, &event))
			return 0;
	}
	dispatch(state, &event);
	return 0;
}

/* An operation of a ring buffer that was seen, and what is to be concluded from it. */
struct ring_operation {
	struct ring ring;
	struct ring_history history;
	__u64 message;
	__u64 slot;
	__u32 is_dequeue;
	__u32 overwritten;
};

/* The same for the history of a ring buffer. */
SEC("syscall")
int run_ring(struct ring_operation *scripted)
{
	struct ring_operation operation;

	__builtin_memcpy(&operation, scripted, sizeof(operation));
	if (operation.is_dequeue)
		operation.slot =
			follow_dequeue(&operation.history, &operation.ring, operation.message);
	else
		operation.overwritten = follow_enqueue(&operation.history, &operation.ring,
						       operation.message, &operation.slot);
	__builtin_memcpy(scripted, &operation, sizeof(operation));
	return 0;
}

#endif
