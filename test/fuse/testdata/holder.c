/*
 * Keeps its memory map locked: it reads a page that does not come. The first attempt to read it fails; in the second one
 * the kernel holds the lock. It is linked statically, so that it maps nothing which others probe.
 *
 * usage: holder read|unmap|leave|fork|map SERVED [LIBRARY [FILE...]]
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const volatile char *page;

static void *read_page(void *unused) {
  (void)unused;
  return (void *)(long)*page;
}

static int map_executable(const char *path) {
  struct stat stat;
  int fd = open(path, O_RDONLY);

  return fd < 0 || fstat(fd, &stat) < 0 || mmap(NULL, stat.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED;
}

int main(int count, char **arguments) {
  pthread_t reader;
  int fd;

  if (count < 3) return 1;
  for (int i = 3; i < count; i++)
    if (map_executable(arguments[i])) return 1;
  if (strcmp(arguments[1], "unmap") == 0) {
    char *written;

    fd = open(arguments[2], O_RDWR);
    written = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (written == MAP_FAILED) return 1;
    *written = 1;
    return munmap(written, 4096);
  }
  fd = open(arguments[2], O_RDONLY);
  page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return 1;
  if (strcmp(arguments[1], "read") == 0) {
    read_page(NULL);
    return 0;
  }
  if (pthread_create(&reader, NULL, read_page, NULL)) return 1;
  if (strcmp(arguments[1], "leave") == 0) syscall(SYS_exit, 0); /* the first thread only */
  usleep(500000);
  if (strcmp(arguments[1], "fork") == 0) {
    if (fork() == 0) return 0;
  } else {
    mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  pause();
  return 0;
}
