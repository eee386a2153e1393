// A leaf function that keeps locals below the stack pointer, around a multi-byte nop. A tracer that
// turns the nop into a call destroys the locals. Exits 0 as long as every result is right.
//
//   red_zone [SECONDS]     calls the function all the time (default 1 s); prints "ready" first
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// The address of the nop, for tests: a symbol of its own.
extern const char red_zone_nop[];

__attribute__((noinline)) uint64_t red_zone_leaf(uint64_t a, uint64_t b) {
  uint64_t result;
  __asm__ volatile(
      "movq %[a], -8(%%rsp)\n\t"
      "movq %[b], -16(%%rsp)\n\t"
      ".globl red_zone_nop\n\t"
      ".type red_zone_nop, @function\n"
      "red_zone_nop:\n\t"
      ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"
      "movq -8(%%rsp), %[result]\n\t"
      "addq -16(%%rsp), %[result]\n\t"
      : [result] "=&r"(result)
      : [a] "r"(a), [b] "r"(b)
      : "memory");
  return result;
}

static double seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int count, char **arguments) {
  const double end = seconds() + (count > 1 ? atof(arguments[1]) : 1.0);
  printf("ready\n");
  fflush(stdout);
  uint64_t calls = 0;
  uint64_t wrong = 0;
  while (seconds() < end) {
    for (uint64_t i = 0; i < 1000; ++i, ++calls) {
      if (red_zone_leaf(calls, i) != calls + i) ++wrong;
    }
  }
  printf("calls %llu wrong %llu\n", (unsigned long long)calls, (unsigned long long)wrong);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
