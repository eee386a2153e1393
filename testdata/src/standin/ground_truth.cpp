#include "standin/ground_truth.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <variant>
#include <vector>

#include "line.hpp"

namespace ground_truth {
namespace {

constexpr std::size_t kRecordsPerChunk = 4096;
constexpr std::size_t kLayers = static_cast<std::size_t>(Layer::count);
constexpr std::array<const char *, kLayers> kLayerNames = {"intra", "rclcpp", "rcl", "rmw",
                                                           "stamp"};

struct CallbackRecord {
  const void *callback;
  CallbackKind kind;
  const char *outcome;
  std::uint64_t sequence;
  Bracket start;
  Bracket end;
  std::uint64_t left;
  unsigned depth;
  const void *parent;
  std::uint64_t parent_start;
  Take take;
  BufferOperation dequeue;
  RequestIdentity request;
  int cpu;
  int end_cpu;
};

struct PublishRecord {
  const void *publisher;
  const void *rmw_publisher;
  const void *message;
  const void *intra_message;
  const char *topic;
  std::array<Bracket, kLayers> layers;
  std::int64_t source_timestamp;
  std::int64_t header_stamp;
  std::uint64_t sequence;
  std::uint64_t number;
  std::uint64_t enqueues;
  const void *callback;
  std::uint64_t callback_start;
  unsigned depth;
};

struct TakeRecord {
  Take take;
  bool polled;
  std::uint64_t sequence;
  const void *callback;
  std::uint64_t callback_start;
};

struct EnqueueRecord {
  BufferOperation operation;
  std::uint64_t publish_number;
};

struct DequeueRecord {
  BufferOperation operation;
};

struct ThreadExitRecord {
  std::uint64_t time;
};

// Anything else, as it is written.
using TextRecord = std::string;

using Record = std::variant<CallbackRecord, PublishRecord, TakeRecord, EnqueueRecord, DequeueRecord,
                            ThreadExitRecord, TextRecord>;

// The events of one thread, in the order in which they ended.
struct Buffer {
  pid_t tid = gettid();
  std::vector<std::vector<Record>> chunks;

  void append(Record &&record) {
    if (chunks.empty() || chunks.back().size() == kRecordsPerChunk) {
      chunks.emplace_back().reserve(kRecordsPerChunk);
    }
    chunks.back().push_back(std::move(record));
  }
};

struct File {
  std::mutex mutex;
  int descriptor = -1;
  unsigned sync_every = 0;
  std::vector<std::shared_ptr<Buffer>> buffers;
};

// Never destroyed: threads may still end after main.
File &file() {
  static File *const instance = new File;
  return *instance;
}

void write_all(int descriptor, const std::string &text) {
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t count = write(descriptor, text.data() + written, text.size() - written);
    if (count < 0) {
      std::perror("ground truth");
      std::_Exit(EXIT_FAILURE);
    }
    written += static_cast<std::size_t>(count);
  }
}

struct Formatter {
  std::string &text;
  pid_t tid;

  void operator()(const CallbackRecord &r) const {
    static constexpr const char *kKinds[] = {"timer", "subscription", "intra_subscription",
                                             "service"};
    Line line(text, "callback", tid);
    line.number("seq", r.sequence);
    line.address("callback", r.callback);
    line.string("kind", kKinds[static_cast<int>(r.kind)]);
    line.bracket("before_start", "after_start", r.start);
    line.bracket("before_end", "after_end", r.end);
    line.number("left", r.left);
    line.number("depth", r.depth);
    line.signed_number("cpu", r.cpu);
    line.signed_number("end_cpu", r.end_cpu);
    if (r.parent != nullptr) {
      line.address("parent", r.parent);
      line.number("parent_start", r.parent_start);
    }
    line.string("outcome", r.outcome);
    if (r.take.rmw_subscription != nullptr) {
      line.address("message", r.take.message);
      line.signed_number("source_timestamp", r.take.source_timestamp);
      line.signed_number("header_stamp", r.take.header_stamp);
      line.gid("publisher_gid", r.take.publisher_gid);
      line.gid("info_gid", r.take.info_gid);
      line.address("subscription", r.take.rmw_subscription);
      line.bracket("take_before", "take_after", r.take.bracket);
    }
    if (r.dequeue.buffer != nullptr) {
      line.address("message", r.dequeue.message);
      line.address("buffer", r.dequeue.buffer);
      line.number("index", r.dequeue.index);
      line.number("size", r.dequeue.size);
      line.signed_number("header_stamp", r.dequeue.header_stamp);
      line.bracket("dequeue_before", "dequeue_after", r.dequeue.bracket);
    }
    if (r.kind == CallbackKind::service) {
      line.gid("client_gid", r.request.client_gid);
      line.signed_number("sequence_number", r.request.sequence_number);
    }
  }

  void operator()(const PublishRecord &r) const {
    Line line(text, "publish", tid);
    line.number("seq", r.sequence);
    line.number("publish_number", r.number);
    line.address("publisher", r.publisher);
    line.address("rmw_publisher", r.rmw_publisher);
    if (r.message != nullptr) line.address("message", r.message);
    if (r.intra_message != nullptr) line.address("intra_message", r.intra_message);
    line.string("topic", r.topic);
    std::string names;
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      if (r.layers[layer].before == 0) continue;
      if (!names.empty()) names += ',';
      names += kLayerNames[layer];
    }
    line.string("layers", names.c_str());
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      const std::string name = kLayerNames[layer];
      line.bracket("before_" + name, "after_" + name, r.layers[layer]);
    }
    if (r.source_timestamp != 0) line.signed_number("source_timestamp", r.source_timestamp);
    line.signed_number("header_stamp", r.header_stamp);
    line.number("enqueues", r.enqueues);
    line.number("depth", r.depth);
    if (r.callback != nullptr) {
      line.address("callback", r.callback);
      line.number("callback_start", r.callback_start);
    }
  }

  void operator()(const TakeRecord &r) const {
    Line line(text, "take", tid);
    line.number("seq", r.sequence);
    line.address("rmw_subscription", r.take.rmw_subscription);
    line.address("message", r.take.message);
    line.signed_number("source_timestamp", r.take.source_timestamp);
    line.signed_number("header_stamp", r.take.header_stamp);
    line.gid("publisher_gid", r.take.publisher_gid);
    line.gid("info_gid", r.take.info_gid);
    line.bracket("before", "after", r.take.bracket);
    line.number("polled", r.polled ? 1 : 0);
    if (r.callback != nullptr) {
      line.address("callback", r.callback);
      line.number("callback_start", r.callback_start);
    }
  }

  void operator()(const EnqueueRecord &r) const {
    Line line(text, "enqueue", tid);
    line.address("buffer", r.operation.buffer);
    line.number("index", r.operation.index);
    line.number("size", r.operation.size);
    line.number("overwritten", r.operation.overwritten ? 1 : 0);
    line.bracket("before", "after", r.operation.bracket);
    line.number("publish_number", r.publish_number);
    line.address("message", r.operation.message);
    line.signed_number("header_stamp", r.operation.header_stamp);
  }

  void operator()(const DequeueRecord &r) const {
    Line line(text, "dequeue", tid);
    line.address("buffer", r.operation.buffer);
    line.number("index", r.operation.index);
    line.number("size", r.operation.size);
    line.bracket("before", "after", r.operation.bracket);
    line.address("message", r.operation.message);
    line.signed_number("header_stamp", r.operation.header_stamp);
  }

  void operator()(const ThreadExitRecord &r) const {
    Line line(text, "thread_exit", tid);
    line.number("time", r.time);
  }

  void operator()(const TextRecord &r) const { text += r; }
};

// The caller holds the file's mutex.
void flush(File &output, Buffer &buffer) {
  std::string text;
  for (const std::vector<Record> &chunk : buffer.chunks) {
    for (const Record &record : chunk) std::visit(Formatter{text, buffer.tid}, record);
    write_all(output.descriptor, text);
    text.clear();
  }
  buffer.chunks.clear();
}

}  // namespace

struct Thread {
  std::shared_ptr<Buffer> buffer = std::make_shared<Buffer>();
  CallbackScope *top = nullptr;
  unsigned depth = 0;
  bool exiting = false;
  Take pending_take;
  BufferOperation pending_dequeue;
  bool publishing = false;
  PublishRecord publish{};
  std::uint64_t next_sequence = 0;
  std::uint64_t next_publish = 0;
  unsigned unwritten = 0;
  int cpu = -1;  // the one that it has moved to

  Thread() {
    File &output = file();
    const std::lock_guard lock(output.mutex);
    output.buffers.push_back(buffer);
  }
  ~Thread() {
    append(ThreadExitRecord{now()});
    File &output = file();
    if (output.sync_every != 0) write_out(output);
  }

  void append(Record &&record) {
    if (!enabled()) return;
    buffer->append(std::move(record));
    File &output = file();
    if (output.sync_every != 0 && ++unwritten >= output.sync_every) write_out(output);
  }

  void write_out(File &output) {
    const std::lock_guard lock(output.mutex);
    if (output.descriptor >= 0) flush(output, *buffer);
    unwritten = 0;
  }

  std::uint64_t top_start() const { return top == nullptr ? 0 : top->start_.before; }
  const void *top_callback() const { return top == nullptr ? nullptr : top->callback_; }

  void write_take(bool polled) {
    append(TakeRecord{pending_take, polled, next_sequence++, top_callback(), top_start()});
    pending_take = {};
  }
};

namespace {

Thread &thread() {
  thread_local Thread instance;
  return instance;
}

// A copy that is never freed: publishers may be gone when their events are written.
const char *interned(const char *text) {
  static std::mutex mutex;
  static std::set<std::string> *const texts = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return texts->insert(text).first->c_str();
}

}  // namespace

std::string hex(const void *address) {
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), "0x%" PRIxPTR, reinterpret_cast<std::uintptr_t>(address));
  return text.data();
}

std::string hex(const Gid &gid) {
  std::string text;
  for (const std::uint8_t byte : gid) {
    std::array<char, 3> digits;
    std::snprintf(digits.data(), digits.size(), "%02x", byte);
    text += digits.data();
  }
  return text;
}

void open(const std::string &path, const std::string &rmw, unsigned sync_every) {
  File &output = file();
  const std::lock_guard lock(output.mutex);
  output.descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (output.descriptor < 0) {
    std::perror(path.c_str());
    std::exit(EXIT_FAILURE);
  }
  output.sync_every = sync_every;
  write_all(output.descriptor, "header\tpid=" + std::to_string(getpid()) +
                                   "\tdistro=" STANDIN_DISTRO "\trmw=" + rmw + "\tversion=1\n");
}

void restart_after_fork(const std::string &path, const std::string &rmw) {
  if (!enabled()) return;
  File &output = file();
  ::close(output.descriptor);
  thread().buffer = std::make_shared<Buffer>();
  output.buffers = {thread().buffer};
  open(path, rmw, output.sync_every);
}

bool enabled() noexcept { return file().descriptor >= 0; }

void close() {
  File &output = file();
  const std::lock_guard lock(output.mutex);
  if (output.descriptor < 0) return;
  for (const std::shared_ptr<Buffer> &buffer : output.buffers) flush(output, *buffer);
  output.buffers.clear();
  ::close(output.descriptor);
  output.descriptor = -1;
}

void write_at_once(const std::string &lines) {
  File &output = file();
  const std::lock_guard lock(output.mutex);
  if (output.descriptor >= 0) write_all(output.descriptor, lines);
}

void entity(const std::string &line) {
  write_at_once(line + "\ttime=" + std::to_string(now()) + "\n");
}

void append(std::string line) { thread().append(std::move(line)); }

OpenCallback open_callback() {
  const Thread &self = thread();
  return {self.top_callback(), self.top_start()};
}

void took(const Take &take) { thread().pending_take = take; }
void took_header(std::int64_t header_stamp) { thread().pending_take.header_stamp = header_stamp; }
void take_was_polled() { thread().write_take(true); }
void take_was_discarded() { thread().write_take(false); }

void enqueued(const BufferOperation &operation) {
  Thread &self = thread();
  ++self.publish.enqueues;
  self.append(EnqueueRecord{operation, self.publish.number});
}

void dequeued(const BufferOperation &operation) {
  Thread &self = thread();
  self.pending_dequeue = operation;
  self.append(DequeueRecord{operation});
}

void move_to_another_cpu() {
  // Of the process, not of a thread that has moved.
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    return set;
  }();
  const int here = sched_getcpu();
  for (int step = 1; step < CPU_SETSIZE; ++step) {
    const int there = (here + step) % CPU_SETSIZE;
    if (!CPU_ISSET(there, &allowed)) continue;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(there, &only);
    if (sched_setaffinity(0, sizeof(only), &only) == 0) thread().cpu = there;
    return;
  }
}

CallbackScope::CallbackScope(const void *callback, CallbackKind kind)
    : callback_(callback), kind_(kind) {
  Thread &self = thread();
  cpu_ = self.cpu;
  parent_ = self.top;
  sequence_ = self.next_sequence++;
  if (kind == CallbackKind::subscription) {
    take_ = self.pending_take;
    self.pending_take = {};
  }
  if (kind == CallbackKind::intra_subscription) {
    dequeue_ = self.pending_dequeue;
    self.pending_dequeue = {};
  }
  self.top = this;
  ++self.depth;
}

CallbackScope::~CallbackScope() {
  Thread &self = thread();
  self.top = parent_;
  --self.depth;
  const char *outcome = end_.before != 0 ? "returned"
                        : deferred_      ? "deferred"
                        : self.exiting   ? "exited"
                                         : "threw";
  self.append(CallbackRecord{callback_, kind_, outcome, sequence_, start_, end_, now(), self.depth,
                             self.top_callback(), self.top_start(), take_, dequeue_, request_, cpu_,
                             self.cpu});
}

void thread_will_exit() { thread().exiting = true; }

PublishScope::PublishScope(const void *rcl_publisher, const void *rmw_publisher,
                           const char *topic) {
  Thread &self = thread();
  outermost_ = !self.publishing;
  if (!outermost_) return;
  self.publishing = true;
  self.publish = {};
  self.publish.publisher = rcl_publisher;
  self.publish.rmw_publisher = rmw_publisher;
  self.publish.topic = enabled() ? interned(topic) : "";
  self.publish.sequence = self.next_sequence++;
  self.publish.number = self.next_publish++;
  self.publish.callback = self.top_callback();
  self.publish.callback_start = self.top_start();
  self.publish.depth = self.depth;
}

PublishScope::~PublishScope() {
  if (!outermost_) return;
  Thread &self = thread();
  self.publishing = false;
  self.append(PublishRecord(self.publish));
}

void publish_layer(Layer layer, Bracket times, const void *message) {
  PublishRecord &publish = thread().publish;
  publish.layers[static_cast<std::size_t>(layer)] = times;
  (layer == Layer::intra ? publish.intra_message : publish.message) = message;
}

void publish_stamp(std::int64_t source_timestamp) {
  thread().publish.source_timestamp = source_timestamp;
}

void publish_header(std::int64_t header_stamp) { thread().publish.header_stamp = header_stamp; }

std::uint64_t publish_number() { return thread().publish.number; }

}  // namespace ground_truth
