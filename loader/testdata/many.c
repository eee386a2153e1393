/* A library of a thousand functions, to measure how long attaching to many takes. */
static volatile int calls;

void ros_trace_callback_start(const void *callback, _Bool is_intra_process)
{
	(void)callback;
	calls += is_intra_process;
}
void ros_trace_callback_end(const void *callback)
{
	(void)callback;
}

/* Calls of macros without semicolons are beyond clang-format. */
/* clang-format off */
#define ONE(n) void function_##n(void) { calls++; }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
HUNDRED(0) HUNDRED(1) HUNDRED(2) HUNDRED(3) HUNDRED(4) HUNDRED(5) HUNDRED(6) HUNDRED(7) HUNDRED(8) HUNDRED(9)
