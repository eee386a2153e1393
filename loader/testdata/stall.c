/*
 * Maps libraries, and runs a loop that notes how long it was kept from running: how attaching and
 * detaching feel from inside.
 *
 * usage: stall LIBRARY...
 *
 * Answers lines of its standard input: "reset" begins anew; "report" prints the number of turns of
 * the loop, and the 99.9th percentile and the maximum of their time in nanoseconds.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BUCKETS	   100000
#define BUCKET_NS  1000
#define TURN_STEPS 20000

static atomic_ulong turns[BUCKETS];
static atomic_ulong longest;

static unsigned long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000UL + t.tv_nsec;
}

static void *loop(void *unused)
{
	unsigned long before = now();

	for (;;) {
		for (volatile int i = 0; i < TURN_STEPS; i++)
			;
		unsigned long after = now(), took = after - before;
		unsigned long bucket = took / BUCKET_NS;

		turns[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
		if (took > longest)
			longest = took;
		before = after;
	}
	return unused;
}

static void reset(void)
{
	for (int i = 0; i < BUCKETS; i++)
		turns[i] = 0;
	longest = 0;
	puts("ok");
}

static void report(void)
{
	unsigned long all = 0, seen = 0;
	int bucket = 0;

	for (int i = 0; i < BUCKETS; i++)
		all += turns[i];
	for (; bucket < BUCKETS - 1 && (seen += turns[bucket]) < all - all / 1000; bucket++)
		;
	printf("%lu %lu %lu\n", all, (unsigned long)bucket * BUCKET_NS, longest);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char line[32];

	for (int i = 1; i < argc; i++) {
		if (!dlopen(argv[i], RTLD_NOW)) {
			fprintf(stderr, "stall: %s\n", dlerror());
			return 1;
		}
	}
	if (pthread_create(&thread, NULL, loop, NULL))
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ok");
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "report\n"))
			report();
		else
			reset();
	}
	return 0;
}
