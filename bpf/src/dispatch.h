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

static __always_inline void dispatch(const struct event *event)
{
	if (raw_records && event->id != EVENT_SERVICE_CALL)
		emit_raw(event);
	switch (event->id) {
	case EVENT_CALLBACK_START:
		callback_start(event);
		break;
	case EVENT_CALLBACK_END:
		callback_end(event);
		break;
	case EVENT_RCLCPP_PUBLISH:
		rclcpp_publish(event);
		break;
	case EVENT_RCL_PUBLISH:
		rcl_publish(event);
		break;
	case EVENT_RMW_PUBLISH:
		rmw_publish(event);
		break;
	case EVENT_DDS_BIND_ADDR_TO_STAMP:
		dds_bind_addr_to_stamp(event);
		break;
	case EVENT_RCLCPP_INTRA_PUBLISH:
		rclcpp_intra_publish(event);
		break;
	case EVENT_RING_BUFFER_ENQUEUE:
		ring_buffer_enqueue(event);
		break;
	case EVENT_RING_BUFFER_DEQUEUE:
		ring_buffer_dequeue(event);
		break;
	case EVENT_RMW_TAKE:
		rmw_take(event);
		break;
	case EVENT_EXECUTOR_EXECUTE:
		executor_execute(event);
		break;
	case EVENT_SERVICE_CALL:
		service_call(event);
		break;
	case EVENT_REQUEST_SENT:
		service_step(event, SERVICE_REQUEST_SENT);
		break;
	case EVENT_REQUEST_TAKEN:
		request_taken(event);
		break;
	case EVENT_RESPONSE_SENT:
		service_step(event, SERVICE_RESPONSE_SENT);
		break;
	case EVENT_RESPONSE_TAKEN:
		service_step(event, SERVICE_RESPONSE_TAKEN);
		break;
	case EVENT_THREAD_EXIT:
		close_thread(event, event->tid);
		break;
	}
}

#endif
