/*
 * Keeps its memory map locked by work: it has the kernel populate a terabyte, with pages of zeros that all are the same.
 *
 * usage: worker LIBRARY
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

int main(int count, char **arguments) {
  size_t size = 1UL << 40;
  char *memory;
  int fd = count == 2 ? open(arguments[1], O_RDONLY) : -1;

  if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) return 1;
  memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || madvise(memory, size, MADV_NOHUGEPAGE)) return 1;
  return madvise(memory, size, MADV_POPULATE_READ) != 0;
}
