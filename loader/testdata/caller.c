/*
 * Calls the tracepoints on command, one line each from standard input, answered with "ok":
 *   load PATH        dlopen
 *   run COUNT THREADS  each thread does COUNT callbacks
 *   pace ROUNDS      from now on those threads count so far after each callback
 *   fork COUNT       the process and a child of it do COUNT callbacks each
 *   spawn            a child of it does nothing
 *   open             one callback_start without its end, on the main thread
 *   call NAME A B C  the library's function, with these arguments
 *   thread NAME A B C  the same on a thread of its own
 *   nested DEPTH NAME A B C  the same with so many frames more on the stack
 *   map A SIZE       memory at an address
 *   write A VALUE    a word there
 *   hide A SIZE      makes memory unreadable
 * Addresses, sizes and values are hexadecimal.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*callback_start)(const void *, bool);
static void (*callback_end)(const void *);
static long count, pace;
static void *library;

static void *work(void *callback)
{
	for (long i = 0; i < count; i++) {
		callback_start(callback, false);
		callback_end(callback);
		for (volatile long rounds = 0; rounds < pace; rounds++)
			;
	}
	return NULL;
}

static void load(const char *path)
{
	library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	callback_start = (void (*)(const void *, bool))dlsym(library, "ros_trace_callback_start");
	callback_end = (void (*)(const void *))dlsym(library, "ros_trace_callback_end");
}

static void run(int threads)
{
	pthread_t ids[64];

	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, work, (void *)(uintptr_t)(0x1000 + i));
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
}

static void fork_and_work(void)
{
	pid_t child = fork();

	work((void *)0x3000);
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void spawn(void)
{
	char *arguments[] = {"true", NULL};
	pid_t child;

	if (!posix_spawnp(&child, "true", NULL, NULL, arguments, environ))
		waitpid(child, NULL, 0);
}

/* Without a prototype, the compiler clears the register of the return value before the call. */
static void call(const char *name, uintptr_t a, uintptr_t b, uintptr_t c)
{
	long (*function)() = (long (*)())dlsym(library, name);

	function(a, b, c);
}

static __attribute__((noinline)) void nested(int depth, const char *name, uintptr_t a, uintptr_t b,
					     uintptr_t c)
{
	volatile char frame[64];

	frame[0] = 0;
	if (depth > 0)
		nested(depth - 1, name, a, b, c);
	else
		call(name, a, b, c);
	frame[1] = frame[0]; /* so that this is no tail call */
}

struct call {
	const char *name;
	uintptr_t arguments[3];
};

static void *call_on_thread(void *argument)
{
	const struct call *c = argument;

	call(c->name, c->arguments[0], c->arguments[1], c->arguments[2]);
	return NULL;
}

static void thread(const char *name, uintptr_t a, uintptr_t b, uintptr_t c)
{
	struct call argument = {name, {a, b, c}};
	pthread_t id;

	pthread_create(&id, NULL, call_on_thread, &argument);
	pthread_join(id, NULL);
}

static void map(uintptr_t address, size_t size)
{
	if (mmap((void *)address, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1,
		 0) != (void *)address) {
		perror("mmap");
		exit(1);
	}
}

int main(void)
{
	unsigned long a, b, c;
	char line[4096], name[64];
	int threads, depth;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "load ", 5))
			load(line + 5);
		else if (sscanf(line, "run %ld %d", &count, &threads) == 2 && threads <= 64)
			run(threads);
		else if (sscanf(line, "pace %ld", &pace) == 1)
			;
		else if (sscanf(line, "fork %ld", &count) == 1)
			fork_and_work();
		else if (!strcmp(line, "spawn"))
			spawn();
		else if (!strcmp(line, "open"))
			callback_start((void *)0x2000, false);
		else if (sscanf(line, "call %63s %lx %lx %lx", name, &a, &b, &c) == 4)
			call(name, a, b, c);
		else if (sscanf(line, "nested %d %63s %lx %lx %lx", &depth, name, &a, &b, &c) == 5)
			nested(depth, name, a, b, c);
		else if (sscanf(line, "thread %63s %lx %lx %lx", name, &a, &b, &c) == 4)
			thread(name, a, b, c);
		else if (sscanf(line, "map %lx %lx", &a, &b) == 2)
			map(a, b);
		else if (sscanf(line, "write %lx %lx", &a, &b) == 2)
			*(volatile uint64_t *)a = b;
		else if (sscanf(line, "hide %lx %lx", &a, &b) == 2)
			mprotect((void *)a, b, PROT_NONE);
		else
			return 1;
		puts("ok");
	}
	return 0;
}
