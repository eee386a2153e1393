/* A library with functions named like ROS 2's tracepoints, and instructions that must not or cannot
 * be probed. */
#include <stdbool.h>
#include <stdint.h>

static volatile uint64_t calls;

void ros_trace_callback_start(const void *callback, bool is_intra_process)
{
	calls += (uintptr_t)callback + is_intra_process;
}
void ros_trace_callback_end(const void *callback)
{
	calls += (uintptr_t)callback;
}
void ros_trace_rmw_take(const void *subscription, const void *message, int64_t source_timestamp,
			bool taken)
{
	calls += (uintptr_t)subscription + (uintptr_t)message + source_timestamp + taken;
}
/* The entry of a function that gives values when it returns, where what it calls has returned, and
 * the next step of an executor. */
void entered(uint64_t a, uint64_t b, uint64_t c)
{
	calls += a + b + c;
}
void returned(uint64_t a, uint64_t b, uint64_t c)
{
	calls += a + b + c;
}
void executed(uint64_t a, uint64_t b, uint64_t c)
{
	calls += a + b + c;
}

#if defined(__x86_64__)
/* Linux 6.18 would turn the nop into a call. */
__asm__(".text\n.globl unsafe\n.type unsafe,@function\n"
	"unsafe: .byte 0x0f,0x1f,0x44,0x00,0x00\nret\n.size unsafe,.-unsafe\n");
/* The kernel takes no uprobe on a privileged instruction. Never called. */
__asm__(".globl privileged\n.type privileged,@function\nprivileged: hlt\nret\n.size "
	"privileged,.-privileged\n");
#elif defined(__aarch64__)
/* The kernel would step through a copy, which loads from elsewhere. */
__asm__(".text\n.globl unsafe\n.type unsafe,%function\n"
	"unsafe: ldr d16,.\nret\n.size unsafe,.-unsafe\n");
/* The kernel takes no uprobe on a write of a system register. Never called. */
__asm__(".globl privileged\n.type privileged,%function\nprivileged: msr nzcv,x9\nret\n.size "
	"privileged,.-privileged\n");
#endif
