/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The state machine's one entrance. In a probe the event id is a constant, so all other branches
 * disappear.
 */
#ifndef CARET_DISPATCH_H
#define CARET_DISPATCH_H

#include "callback.h"
#include "publish.h"
#include "service.h"
#include "take.h"

static __always_inline void dispatch(struct thread_state *state, const struct event *event)
{
	if (raw_records && event->id != EVENT_SERVICE_CALL)
		emit_raw(event);
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
	case EVENT_RING_BUFFER_ENQUEUE:
		ring_buffer_enqueue(state, event);
		break;
	case EVENT_RING_BUFFER_DEQUEUE:
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
	case EVENT_THREAD_EXIT:
		close_thread(event, event->tid);
		break;
	}
}

#endif
