/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * What a plan says of the site that a program is called for: its attach cookie.
 */
#ifndef CARET_SITE_H
#define CARET_SITE_H

/* First bits of the parts of a cookie; the event id is the lowest byte. */
enum cookie_shift {
	COOKIE_FORM_SHIFT = 8,	      /* 8 bits: where the arguments are */
	COOKIE_LAST_LAYER_SHIFT = 16, /* 1: the publish closes here, no later layer is planned */
	COOKIE_ROLE_SHIFT = 17,	      /* 3: the role of the site */
	COOKIE_UNIT_SHIFT = 20,	      /* 5: the part of the plan that the site belongs to */
	COOKIE_STACK_SHIFT = 25,      /* 8: signed words to the stack pointer at function entry */
	COOKIE_PARAMETER_SHIFT = 33,  /* 16: a byte offset */
	COOKIE_COST_SHIFT = 49,	      /* 14: what a hit is expected to cost, in 2 nanoseconds */
	COOKIE_SET_SHIFT = 63,	      /* 1: the set of links that this one belongs to: links.h */
};

#define COOKIE_EVENT(cookie)	  ((cookie)&0xff)
#define COOKIE_FORM(cookie)	  (((cookie) >> COOKIE_FORM_SHIFT) & 0xff)
#define COOKIE_LAST_LAYER(cookie) (((cookie) >> COOKIE_LAST_LAYER_SHIFT) & 1)
#define COOKIE_ROLE(cookie)	  (((cookie) >> COOKIE_ROLE_SHIFT) & 7)
#define COOKIE_UNIT(cookie)	  (((cookie) >> COOKIE_UNIT_SHIFT) & 31)
#define COOKIE_STACK(cookie)	  ((__s64)(__s8)((cookie) >> COOKIE_STACK_SHIFT) * 8)
#define COOKIE_PARAMETER(cookie)  (((cookie) >> COOKIE_PARAMETER_SHIFT) & 0xffff)
#define COOKIE_COST(cookie)	  ((((cookie) >> COOKIE_COST_SHIFT) & 0x3fff) * 2)
#define COOKIE_SET(cookie)	  ((cookie) >> COOKIE_SET_SHIFT)

/* What was probed. */
enum site_role {
	ROLE_FUNCTION = 0, /* a function of which no callers are probed */
	ROLE_CALLER = 1,   /* an instruction that calls it */
	ROLE_BODY = 2,	   /* a function of which callers are probed, too */
	ROLE_RETURN = 3,   /* an instruction that calls of the function return to */
	ROLE_OWN_BODY =
		4, /* a body whose link is of one process, and every process may have another */
	ROLE_OWN_FUNCTION = 5, /* a function in the same case */
};

/* Where a site's arguments are, by event. */
enum site_form {
	FORM_ARGUMENTS = 0, /* in the tracepoint's order */
	/* of rcl_publish: its siblings for serialized and loaned messages */
	FORM_SERIALIZED = 1,
	FORM_LOANED = 2,
	/* of rmw_publish: the message is the only argument */
	FORM_MESSAGE_ONLY = 1,
	/* of rmw_take: the entry of rcl's functions, and where the rmw function returns in them */
	FORM_TAKE_ENTRY = 1,
	FORM_TAKE_SERIALIZED_ENTRY = 2,
	FORM_TAKE_SERIALIZED_RETURN = 3,
	FORM_TAKE_LOANED_ENTRY = 4,
	FORM_TAKE_LOANED_RETURN = 5,
	/*
	 * of callback_start and callback_end: a member function of GenericSubscription. At the
	 * start the parameter leads from SubscriptionBase to subscription_handle_.
	 */
	FORM_GENERIC_CALLBACK = 1,
	/* of Humble's intra-process events: concluded from functions of rclcpp */
	FORM_DERIVED = 1,
	/* of dds_bind_addr_to_stamp */
	FORM_FAST_DDS = 0,
	FORM_CYCLONE_DDS_WRITE = 1,
	FORM_CYCLONE_DDS_WRITE_STAMP = 2,
	FORM_CYCLONE_DDS_SERDATA = 3,
	/* of services: rcl's function, and where the rmw function has returned in it */
	FORM_SERVICE_ENTRY = 0,
	FORM_SERVICE_RETURN = 1,
	/* of construct_executor: the class */
	FORM_EXECUTOR_BASE = 0,
	FORM_SINGLE_THREADED_EXECUTOR = 1,
	FORM_MULTI_THREADED_EXECUTOR = 2,
	FORM_STATIC_SINGLE_THREADED_EXECUTOR = 3,
	FORM_EVENTS_EXECUTOR = 4,
};

/* Parts of a plan have their event's number, but for these. */
enum plan_unit {
	UNIT_ENTITIES = 0,
	UNIT_INTRA_PUBLISH = 8, /* rclcpp_intra_publish and the enqueues that it counts */
	UNIT_TAKE_DETAILS = 20, /* the entry of rcl_take, for what rmw_take does not tell */
	UNIT_SERIALIZED_TAKES = 21,
	UNIT_LOANED_TAKES = 22,
	UNIT_OTHER_PUBLISHES = 23, /* of serialized and loaned messages */
	UNIT_EXCEPTIONS = 24,
	UNIT_SERVICE_EXECUTIONS = 25,
};

#endif
