/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * What the kernel side says to the recorder: ids, and the fixed-size records of the ring buffer.
 *
 * bpf/abi says the same in Go; its test walks all enumerations and structures of the compiled
 * object's BTF, so numbers are enumerators here, never macros. Padding is explicit everywhere (the
 * build has -Wpadded -Werror).
 */
#ifndef CARET_RECORDS_H
#define CARET_RECORDS_H

/* Ids of events: the low byte of an attach cookie. */
enum event_id {
	EVENT_CALLBACK_START = 1,
	EVENT_CALLBACK_END = 2,
	EVENT_RCLCPP_PUBLISH = 3,
	EVENT_RCL_PUBLISH = 4,
	EVENT_RMW_PUBLISH = 5,
	EVENT_DDS_BIND_ADDR_TO_STAMP = 6,
	EVENT_RCLCPP_INTRA_PUBLISH = 7,
	EVENT_RCLCPP_RING_BUFFER_ENQUEUE = 8,
	EVENT_RCLCPP_RING_BUFFER_DEQUEUE = 9,
	EVENT_RMW_TAKE = 10,
	EVENT_EXECUTOR_EXECUTE = 11,
	EVENT_THREAD_EXIT = 12,
	EVENT_REQUEST_SENT = 13,
	EVENT_REQUEST_TAKEN = 14,
	EVENT_RESPONSE_SENT = 15,
	EVENT_RESPONSE_TAKEN = 16,
	EVENT_SERVICE_CALL = 17,
	EVENT_SIM_TIME = 18,
	EVENT_LIBRARY_LOAD = 19, /* the dynamic linker tells debuggers of libraries */
	EVENT_RCL_INIT = 20,
	EVENT_RCL_NODE_INIT = 21,
	EVENT_RCL_PUBLISHER_INIT = 22,
	EVENT_RCL_SUBSCRIPTION_INIT = 23,
	EVENT_RCLCPP_SUBSCRIPTION_INIT = 24,
	EVENT_RCLCPP_SUBSCRIPTION_CALLBACK_ADDED = 25,
	EVENT_RCL_TIMER_INIT = 26,
	EVENT_RCLCPP_TIMER_CALLBACK_ADDED = 27,
	EVENT_RCLCPP_TIMER_LINK_NODE = 28,
	EVENT_RCLCPP_CALLBACK_REGISTER = 29,
	EVENT_RCL_SERVICE_INIT = 30,
	EVENT_RCLCPP_SERVICE_CALLBACK_ADDED = 31,
	EVENT_RCL_CLIENT_INIT = 32,
	EVENT_RCLCPP_IPB_TO_SUBSCRIPTION = 33,
	EVENT_RCLCPP_BUFFER_TO_IPB = 34,
	EVENT_RCLCPP_CONSTRUCT_RING_BUFFER = 35,
	EVENT_RCL_LIFECYCLE_STATE_MACHINE_INIT = 36,
	EVENT_CONSTRUCT_EXECUTOR = 37,
	EVENT_ADD_CALLBACK_GROUP = 38,
	EVENT_ADD_CALLBACK_GROUP_STATIC_EXECUTOR = 39,
	EVENT_CALLBACK_GROUP_ADD_TIMER = 40,
	EVENT_CALLBACK_GROUP_ADD_SUBSCRIPTION = 41,
	EVENT_CALLBACK_GROUP_ADD_SERVICE = 42,
	EVENT_CALLBACK_GROUP_ADD_CLIENT = 43,
	EVENT_CALLBACK_GROUP_TO_EXECUTOR_ENTITY_COLLECTOR = 44,
	EVENT_EXECUTOR_ENTITY_COLLECTOR_TO_EXECUTOR = 45,
	EVENT_RMW_PUBLISHER_INIT = 46,
	EVENT_ADD_PUBLISHER = 47,
	EVENT_GENERIC_SUBSCRIPTION = 48,
	EVENT_RCL_PUBLISHER_FINI = 50,
	EVENT_RCL_SUBSCRIPTION_FINI = 51,
	EVENT_RCL_TIMER_FINI = 52,
	EVENT_RCL_SERVICE_FINI = 53,
	EVENT_RCL_CLIENT_FINI = 54,
	EVENT_RCL_NODE_FINI = 55,
	EVENT_EXECUTOR_DESTROY = 56,
	EVENT_RCL_LIFECYCLE_TRANSITION = 60,
	EVENT_EXCEPTION_CAUGHT = 64,
	EVENT_SERVICE_EXECUTED = 65,
	EVENT_WAIT = 66,
};

enum record_kind {
	KIND_CALLBACK = 1,
	KIND_PUBLISH = 2,
	KIND_TAKE = 3,
	KIND_ENQUEUE = 4,
	KIND_INIT = 5,
	KIND_RAW = 6,
	KIND_PROCESS = 7,
	KIND_SERVICE = 8,
	KIND_SIM_TIME = 9,
	KIND_THREAD = 10,
	KIND_WAIT = 11,
	KIND_SCHEDULED_CALLBACK = 12, /* a callback with what it was off the CPU for */
	KIND_SCHED = 13,
	KIND_COUNT = 14,
};

enum callback_status {
	CALLBACK_COMPLETE = 0,
	CALLBACK_UNWOUND = 1,
	CALLBACK_START_MISSING = 2,
	CALLBACK_RECORDING_END = 3,
	CALLBACK_THREAD_EXIT = 4,
};

enum publish_status {
	PUBLISH_COMPLETE = 0,
	PUBLISH_NO_LAST_LAYER = 1,
	PUBLISH_RECORDING_END = 2,
	PUBLISH_THREAD_EXIT = 3,
};

enum service_step {
	SERVICE_REQUEST_SENT = 0,
	SERVICE_REQUEST_TAKEN = 1,
	SERVICE_RESPONSE_SENT = 2,
	SERVICE_RESPONSE_TAKEN = 3,
};

enum wait_status {
	WAIT_COMPLETE = 0,
	WAIT_START_MISSING = 1,
	WAIT_END_MISSING = 2, /* the thread waits again, and nothing has shown an end */
	WAIT_RECORDING_END = 3,
	WAIT_THREAD_EXIT = 4,
};

enum sched_status {
	SCHED_PREEMPTED = 0, /* the thread could run */
	SCHED_BLOCKED = 1,
};

enum process_status {
	PROCESS_FORK = 1,
	PROCESS_EXEC = 2,
	PROCESS_EXIT = 3,
	PROCESS_LOAD = 4, /* it begins or ends to map libraries, or to unmap them */
};

enum record_flag {
	/* record_header.flags of callbacks and takes: what fed them. */
	FLAG_INTRA_PROCESS = 1,
	FLAG_FED_BY_TAKE = 2,
	FLAG_FED_BY_DEQUEUE = 4,
	/* of callbacks, takes, publishes, enqueues: the enclosing callback was too deep to be
	   known. */
	FLAG_PARENT_UNKNOWN = 8,
	/* of enqueues */
	FLAG_OVERWRITTEN = 16,
	/* of services: rcl itself says that something was taken, for the one that took it */
	FLAG_TAKEN = 16,
	FLAG_IN_PUBLISH = 32,
	/* of derived ones: the buffer is full, whether it was full before is not known. */
	FLAG_OVERWRITTEN_UNKNOWN = 64,
	/* of callbacks: a service's request was taken before. */
	FLAG_FED_BY_REQUEST = 64,
	/* of services: the callback is the one that the request fed. */
	FLAG_FED_CALLBACK = 64,
	/* of enqueues, publishes, callbacks and takes: the intra-process part is concluded from
	 * Humble's rclcpp, which has no tracepoint. Of callbacks without one: start and end are
	 * concluded. */
	FLAG_DERIVED = 128,
	/* of init records: a string could not be read, or was longer than its field. */
	FLAG_STRING_FAULT = 64,
	FLAG_STRING_CUT = 128,
};

enum message_detail {
	/* details of a message: which optional values are there, and its form. */
	DETAIL_GID = 1,
	DETAIL_MESSAGE_STAMP = 2,
	DETAIL_SERIALIZED = 4,
	DETAIL_LOANED = 8,
	/* The publisher's handle is a copy on the stack, as of /rosout: only its rmw handle
	 * identifies it.
	 */
	DETAIL_STACK_HANDLE = 16,
	/* The function that tells the form may have been entered before the recording began. */
	DETAIL_FORM_UNKNOWN = 32,
};

enum publish_layer {
	/* publish_record.layers: which tracepoints of the publish were seen. */
	LAYER_INTRA = 1,
	LAYER_RCLCPP = 2,
	LAYER_RCL = 4,
	LAYER_RMW = 8,
	LAYER_STAMP = 16,
};

enum record_size {
	INIT_ARGUMENTS = 5,
	RAW_ARGUMENTS = 5,
	INIT_STRING_SIZE = 256,
	/*
	 * Hits are counted by the part of a plan that their site belongs to. A power of two: it is
	 * used as a mask.
	 */
	HIT_UNITS = 32,
	/* Callbacks that may be open at once on a thread. A power of two, too. */
	MAX_DEPTH = 16,
};

/* What rcl_client_init tells in place of a second string, by its size, which is the last argument.
 */
enum client_identity_size {
	CLIENT_GUIDS_SIZE = 32, /* with Fast DDS, the GUIDs of the client's writer and reader */
	CLIENT_HANDLE_SIZE = 8, /* with Cyclone DDS, its instance handle */
};

/* In place of a slot of a ring buffer: which one it was is not known. */
enum unknown_slot {
	UNKNOWN_SLOT = -1,
};

#define SLOT_UNKNOWN ((__u64)UNKNOWN_SLOT)

struct record_header {
	__u8 kind;
	__u8 status; /* the kind's status; the event id of init and raw records */
	__u8 depth;  /* callbacks open on the thread outside this one; 0 = none */
	__u8 flags;
	__u32 cpu;
	__u32 pid;
	__u32 tid;
};

/* A take (rmw_take) or an intra-process dequeue, which may feed a callback. */
struct feed {
	__u64 source;  /* rmw subscription handle | ring buffer */
	__u64 message; /* message address | slot index */
	__s64 stamp;   /* source timestamp (Unix ns) | buffer size after the dequeue */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 gid[2];  /* first 16 bytes of the publisher's | the message's address, 0 if unknown */
	__s64 message_stamp; /* header.stamp of the message, ns */
	__u32 details;
	/* CPU at end_ns of a callback's record, which has no other room for it; 0 in takes. */
	__u32 callback_end_cpu;
};

/* merged_callback_timing: callback_start + callback_end + what fed it. */
struct callback_record {
	struct record_header header;
	__u64 callback;
	__u64 start_ns; /* 0: began before the recording */
	__u64 end_ns;	/* 0: unknown, the status says why */
	__u64 parent_callback;
	__u64 parent_start_ns;
	__u64 overhead_ns; /* what hits between start and end cost, the one at the end included */
	struct feed feed;
};

/* What a thread was off the CPU for, in a while. */
struct scheduling {
	__u64 preempted_ns; /* it could run */
	__u64 blocked_ns;
	__u64 wakeup_ns; /* it was awake again, and did not run yet */
	__u32 preemptions;
	__u32 migrations;
};

/* A complete callback of which it is known. Losses are counted as those of callbacks. */
struct scheduled_callback_record {
	struct callback_record callback;
	struct scheduling scheduling;
};

/* merged_publish_timing: every layer of one publish; a time is valid where its layer bit is set. */
struct publish_record {
	struct record_header header;
	__u64 number; /* counts the publishes of the thread */
	__u64 publisher;
	__u64 rmw_publisher;
	__u64 message;
	__u64 intra_message;
	__u64 intra_ns;
	__u64 rclcpp_ns;
	__u64 rcl_ns;
	__u64 rmw_ns;
	__u64 stamp_ns;
	__s64 source_timestamp;
	__u64 callback;
	__u64 callback_start_ns;
	__s64 message_stamp; /* header.stamp of the message, ns */
	__u32 enqueues;
	__u16 layers;
	__u16 details;
};

/* A take or dequeue that fed no callback. */
struct take_record {
	struct record_header header;
	struct feed feed;
	__u64 callback;
	__u64 callback_start_ns;
};

/* rclcpp_ring_buffer_enqueue. */
struct enqueue_record {
	struct record_header header;
	__u64 buffer;
	__u64 index;
	__u64 size;
	__u64 time_ns;
	__u64 publish_number;
	__u64 publisher;
	__u64 callback;
	__u64 callback_start_ns;
};

/* One step of a service call; the header's status is the step. */
struct service_record {
	struct record_header header;
	__u64 time_ns;
	__u64 handle; /* rcl client or service */
	__u64 message;
	__u64 gid[2]; /* what the server knows the client by; 0 in the client's steps */
	__s64 sequence;
	__s64 stamp; /* source timestamp of what was taken (Unix ns) */
	__u64 callback;
	__u64 callback_start_ns;
};

/* rcl_set_ros_time_override. */
struct sim_time_record {
	struct record_header header;
	__u64 time_ns;
	__u64 clock;
	__s64 sim_time_ns;
};

/* Executor::wait_for_work, from its entry to where it has returned. */
struct wait_record {
	struct record_header header;
	__u64 start_ns; /* 0: began before the recording */
	__u64 end_ns;	/* 0: unknown, the status says why */
	__u64 executor;
	__s64 timeout_ns; /* negative: for ever */
};

struct hit_count {
	__u64 hits;
	__u64 cost_ns;
};

/* What recording has cost a thread: hits times what each is expected to cost. */
struct thread_record {
	struct record_header header;
	__u64 time_ns; /* the thread's end; 0: it still runs */
	__u64 cost_ns; /* of all units */
	struct hit_count units[HIT_UNITS];
};

/* An initialization event. The second string follows the first field; one long string may use both.
 */
struct init_record {
	struct record_header header;
	__u64 time_ns;
	__u64 arguments[INIT_ARGUMENTS];
	char strings[2 * INIT_STRING_SIZE];
};

/* One tracepoint hit, unmerged (--raw). */
struct raw_record {
	struct record_header header;
	__u64 time_ns;
	__u64 stack_pointer;
	__u64 arguments[RAW_ARGUMENTS];
};

/* Who had to do with a thread that was off the CPU. */
struct other_thread {
	__u32 pid;
	__u32 tid; /* 0: nobody, or the idle thread */
	__s32 priority;
	__u32 reserved;
	char command[16];
};

/* A time off the CPU of a thread; the header's CPU is where it came back, its depth that of then.
 */
struct sched_record {
	struct record_header header;
	__u64 out_ns;
	__u64 in_ns;
	__u64 waking_ns; /* of one that blocked; 0: no waking was seen */
	__u64 callback;	 /* that was open */
	__u64 callback_start_ns;
	__u32 out_cpu;
	__s32 priority;
	/* Who got the CPU | who ran where it was woken: it woke it, or an interrupt of it did. */
	struct other_thread other;
};

/* Life of processes: pid is the child of a fork, the process itself otherwise. */
struct process_record {
	struct record_header header;
	__u64 time_ns;
	__u64 start_boottime_ns;
	__u32 parent_pid;
	__u32 reserved;
	char command[16];
};

enum loss_reason {
	REASON_RING_FULL = 0,
	REASON_NO_THREAD_STATE = 1,
	REASON_DEPTH_EXCEEDED = 2,
	REASON_MAP_FULL = 3,
	REASON_FAULT = 4,
	REASON_MISSED = 5, /* the kernel itself counts more of them than were seen */
	REASON_COUNT = 16,
};

#endif
