/* Tracepoints as Humble's packages have them: a landing pad and a return. The functions are called
 * by testdata/callers.c. */
#if defined(__x86_64__)
#define STUB(name)                                                                                 \
	__asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name                       \
		":\n.cfi_startproc\nendbr64\nret\n.cfi_endproc\n.size " #name ",.-" #name "\n")
STUB(ros_trace_callback_start);
STUB(ros_trace_callback_end);
#endif
