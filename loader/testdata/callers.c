/* Calls tracepoints in every way that compilers call functions. Each function proves that its own
 * values are what they should be, whatever probes did. */
#include <stdint.h>
#include <stdlib.h>

extern void ros_trace_callback_start(uintptr_t callback, int is_intra_process);
extern void ros_trace_callback_end(uintptr_t callback);

static void expect(int correct)
{
	if (!correct)
		abort();
}

void by_call(uintptr_t callback, uintptr_t intra)
{
	volatile uintptr_t kept = callback;

	ros_trace_callback_start(callback, (int)intra);
	expect(kept == callback);
	ros_trace_callback_end(callback);
	expect(kept == callback);
}

/* The end is a jump. */
void by_jump(uintptr_t callback, uintptr_t intra)
{
	ros_trace_callback_start(callback, (int)intra);
	expect(callback != 0);
	ros_trace_callback_end(callback);
}

void by_pointer(uintptr_t callback, uintptr_t intra)
{
	void (*volatile start)(uintptr_t, int) = ros_trace_callback_start;
	void (*volatile end)(uintptr_t) = ros_trace_callback_end;

	start(callback, (int)intra);
	end(callback);
}

/* A jump table, and calls in its arms. */
void by_table(uintptr_t callback, uintptr_t intra)
{
	switch (callback) {
	case 1:
		ros_trace_callback_start(1, 0);
		break;
	case 2:
		ros_trace_callback_start(2, 1);
		break;
	case 3:
		ros_trace_callback_start(3, 0);
		break;
	case 4:
		ros_trace_callback_start(4, (int)intra);
		break;
	case 5:
		ros_trace_callback_start(5, 1);
		break;
	default:
		ros_trace_callback_start(callback, (int)intra);
	}
	ros_trace_callback_end(callback);
	expect(intra < 2);
}

/* The same call twice in a row at one depth: two events, not one. */
void twice(uintptr_t callback, uintptr_t intra)
{
	ros_trace_callback_start(callback, (int)intra);
	ros_trace_callback_start(callback, (int)intra);
	ros_trace_callback_end(callback);
	ros_trace_callback_end(callback);
	expect(callback != 0);
}
