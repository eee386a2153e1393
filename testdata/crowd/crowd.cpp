// A library of a large system: it has many calls of tracepoints and, in the process that loads it,
// many threads. Each of these sleeps most of the time, executes a callback, and says how late it
// was. CROWD_THREADS says how many there are, CROWD_LATENESS names the file of one word in which
// all processes keep how many nanoseconds the latest thread was late since somebody wrote 0.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "tracetools/tracetools.h"

namespace {

constexpr std::size_t kCallbacks = 34;  // two calls of tracepoints each
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kPeriod = 5 * kSecond;
constexpr std::size_t kStack = 64 << 10;

std::atomic<std::int64_t> *latest;

template <std::size_t kNumber>
[[gnu::noinline]] void callback() {
  static char object;
  ros_trace_callback_start(&object, false);
  ros_trace_callback_end(&object);
}

template <std::size_t... kNumbers>
constexpr std::array<void (*)(), sizeof...(kNumbers)> callbacks_of(
    std::index_sequence<kNumbers...>) {
  return {callback<kNumbers>...};
}

constexpr auto kAll = callbacks_of(std::make_index_sequence<kCallbacks>());

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

void note(std::int64_t late) {
  std::int64_t known = *latest;
  while (late > known && !latest->compare_exchange_weak(known, late)) {
  }
}

// The number decides when in the period the thread is due: they do not all wake at once.
void *run(void *number) {
  const auto index = reinterpret_cast<std::uintptr_t>(number);
  std::int64_t due = now() + static_cast<std::int64_t>(index * 7919 % 5000) * (kPeriod / 5000);
  for (;; due += kPeriod) {
    const timespec until{due / kSecond, due % kSecond};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
    note(now() - due);
    kAll[index % kCallbacks]();
  }
}

std::atomic<std::int64_t> *map_word(const char *path) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) std::abort();
  void *const mapped = mmap(nullptr, sizeof(*latest), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) std::abort();
  close(file);
  return static_cast<std::atomic<std::int64_t> *>(mapped);
}

[[gnu::constructor]] void begin() {
  const char *const threads = std::getenv("CROWD_THREADS");
  const char *const lateness = std::getenv("CROWD_LATENESS");
  if (threads == nullptr || lateness == nullptr) return;
  latest = map_word(lateness);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  for (long i = std::atol(threads); i > 0; --i) {
    pthread_t thread;
    void *const number = reinterpret_cast<void *>(static_cast<std::uintptr_t>(getpid() * 100 + i));
    if (pthread_create(&thread, &attributes, run, number) != 0) std::abort();
    pthread_detach(thread);
  }
}

}  // namespace
