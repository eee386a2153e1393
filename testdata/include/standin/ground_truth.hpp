// What really happened, written by the traced program itself: the reference that recordings are
// compared with. Nothing in here exists in ROS 2.
#pragma once

#include <time.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace ground_truth {

// CLOCK_MONOTONIC in nanoseconds; no system call (vDSO).
inline std::uint64_t now() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// The instants just before and just after a tracepoint's call; zero when it was not called.
struct Bracket {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};

template <typename Call>
[[gnu::always_inline]] inline Bracket bracket(Call &&call) {
  Bracket times;
  times.before = now();
  call();
  times.after = now();
  return times;
}

// A DDS endpoint's identity, or what stands for it in a service request's header.
using Gid = std::array<std::uint8_t, 16>;

// What a request and its response have in common.
struct RequestIdentity {
  Gid client_gid{};
  std::int64_t sequence_number = 0;
};

enum class CallbackKind { timer, subscription, intra_subscription, service };

struct Take {
  const void *rmw_subscription = nullptr;
  const void *message = nullptr;
  std::int64_t source_timestamp = 0;
  std::int64_t header_stamp = 0;  // nanoseconds; zero: the message has no header
  Gid publisher_gid{};            // of the DDS writer
  Gid info_gid{};                 // what rmw_message_info_t says
  Bracket bracket;
};

// A message put into or got out of an intra-process ring buffer. Humble has no tracepoint there:
// the bracket then holds the operation itself.
struct BufferOperation {
  const void *buffer = nullptr;
  const void *message = nullptr;
  std::uint64_t index = 0;
  std::uint64_t size = 0;
  bool overwritten = false;
  std::int64_t header_stamp = 0;
  Bracket bracket;
};

enum class Layer { intra, rclcpp, rcl, rmw, stamp, count };

// Starts writing to `path`; with `sync_every` != 0 a thread writes its events out after that many.
void open(const std::string &path, const std::string &rmw, unsigned sync_every);
// In a child that has been forked by the calling thread: goes on writing, to a file of its own.
void restart_after_fork(const std::string &path, const std::string &rmw);
bool enabled() noexcept;
// Writes what all threads hold. The other threads must have stopped publishing and executing.
void close();

// One entity, written at once: "node\tnode=0x...".
void entity(const std::string &line);
std::string hex(const void *address);
std::string hex(const Gid &gid);

// One or more whole lines, written at once.
void write_at_once(const std::string &lines);

// One event of this thread as a whole line, kept with the thread's other events.
void append(std::string line);

// The innermost callback that is open on this thread; null if there is none.
struct OpenCallback {
  const void *callback = nullptr;
  std::uint64_t start = 0;
};
OpenCallback open_callback();

// A message was taken on this thread. It belongs to the next subscription callback, unless one of
// the two functions below says otherwise.
void took(const Take &take);
// What rclcpp, which knows the message's type, adds to it.
void took_header(std::int64_t header_stamp);
void take_was_polled();
// rclcpp drops a message that also came over the intra-process way, or hands it to a callback that
// is not traced.
void take_was_discarded();

void enqueued(const BufferOperation &operation);
// Belongs to the next intra-process callback of this thread.
void dequeued(const BufferOperation &operation);

// Moves this thread to another CPU, where it stays. Only from then on it is known where its
// tracepoints are called: the kernel moves any other thread when it likes. Does nothing where the
// process may use one CPU only.
void move_to_another_cpu();

// The running time of one callback on this thread, up to an exception or pthread_exit.
class CallbackScope {
 public:
  CallbackScope(const void *callback, CallbackKind kind);
  ~CallbackScope();
  CallbackScope(const CallbackScope &) = delete;
  CallbackScope &operator=(const CallbackScope &) = delete;

  void started(Bracket times) noexcept { start_ = times; }
  void ended(Bracket times) noexcept { end_ = times; }
  // It returned, but without the callback_end tracepoint: its response follows later.
  void deferred() noexcept { deferred_ = true; }
  // The request that a service callback serves.
  void serves(const RequestIdentity &request) noexcept { request_ = request; }

 private:
  friend class PublishScope;
  friend struct Thread;

  const void *callback_;
  CallbackKind kind_;
  CallbackScope *parent_;
  std::uint64_t sequence_;
  Bracket start_;
  Bracket end_;
  bool deferred_ = false;
  Take take_;
  BufferOperation dequeue_;
  RequestIdentity request_;
  int cpu_;  // -1: not known
};

// Says that this thread is about to leave its open callbacks through pthread_exit.
void thread_will_exit();

// One publish through all layers. A scope inside another one on the same thread does nothing.
class PublishScope {
 public:
  PublishScope(const void *rcl_publisher, const void *rmw_publisher, const char *topic);
  ~PublishScope();
  PublishScope(const PublishScope &) = delete;
  PublishScope &operator=(const PublishScope &) = delete;

 private:
  bool outermost_;
};

// The following describe the publish that is open on this thread.
void publish_layer(Layer layer, Bracket times, const void *message);
void publish_stamp(std::int64_t source_timestamp);
void publish_header(std::int64_t header_stamp);
// Its number among those of the thread.
std::uint64_t publish_number();

}  // namespace ground_truth
