// What a program did, kept in memory by each thread and written when it ends: writing at once would disturb what is to be seen.
#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace program {

// CLOCK_MONOTONIC in nanoseconds.
inline std::uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000u + static_cast<std::uint64_t>(time.tv_nsec);
}

// An execution of a callback that rclcpp traces. Its callback_start lies before the start, its callback_end after the end.
struct Frame {
  int entity = 0;  // 0: none
  std::uint64_t start = 0;
};

// Something that a thread did, with the callback that it did it in.
struct Event {
  const char *what;
  int entity;
  std::uint64_t number;  // of the message, the request or the response; 0: there is none
  std::uint64_t start, end;
  const char *outcome;
  Frame in;
};

struct Thread {
  pid_t tid = static_cast<pid_t>(syscall(SYS_gettid));
  std::vector<Event> events;
  std::vector<Frame> open;

  Frame innermost() const { return open.empty() ? Frame{} : open.back(); }
};

// What the program made. `made` encloses the making; after `ended` it may be gone.
struct Entity {
  int id;
  const char *kind;
  std::string node, name;
  std::int64_t period;
  const void *handle;
  std::uint64_t made_before, made_after, ended;
};

class Log {
 public:
  static Log &instance() {
    static Log log;
    return log;
  }

  Thread &this_thread() {
    thread_local Thread *thread = nullptr;
    if (thread == nullptr) {
      std::lock_guard<std::mutex> lock(mutex_);
      threads_.push_back(std::make_unique<Thread>());
      thread = threads_.back().get();
      thread->events.reserve(1u << 14);
    }
    return *thread;
  }

  void made(Entity entity) {
    std::lock_guard<std::mutex> lock(mutex_);
    entities_.push_back(std::move(entity));
  }

  void ended(int id) {
    const std::uint64_t at = now();
    std::lock_guard<std::mutex> lock(mutex_);
    for (Entity &entity : entities_) {
      if (entity.id == id) entity.ended = at;
    }
  }

  // Writes everything to the file that CARET_BPF_TRUTH names. All other threads must be over.
  void write() {
    const char *const path = std::getenv("CARET_BPF_TRUTH");
    std::FILE *const file = path == nullptr ? nullptr : std::fopen(path, "w");
    if (file == nullptr) return;
    std::fprintf(file, "header\tpid=%d\n", static_cast<int>(getpid()));
    for (const Entity &e : entities_) {
      std::fprintf(file, "entity\tid=%d\tkind=%s\tnode=%s\tname=%s\tperiod=%lld\thandle=%#llx\tbefore=%llu\tafter=%llu\tended=%llu\n", e.id,
                   e.kind, e.node.c_str(), e.name.c_str(), static_cast<long long>(e.period),
                   number(reinterpret_cast<std::uintptr_t>(e.handle)), number(e.made_before), number(e.made_after), number(e.ended));
    }
    for (const std::unique_ptr<Thread> &thread : threads_) {
      for (const Event &e : thread->events) {
        std::fprintf(file, "%s\ttid=%d\tentity=%d\tnumber=%llu\tstart=%llu\tend=%llu\toutcome=%s\tin=%d\tin_start=%llu\n", e.what,
                     static_cast<int>(thread->tid), e.entity, number(e.number), number(e.start), number(e.end), e.outcome, e.in.entity,
                     number(e.in.start));
      }
    }
    std::fprintf(file, "end\n");
    std::fclose(file);
  }

 private:
  static unsigned long long number(std::uint64_t value) { return value; }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Entity> entities_;
};

// Makes an entity and logs it: `make` returns what is known of it.
template <class Make>
void log_making(int id, const char *kind, Make make) {
  const std::uint64_t before = now();
  Entity entity = make();
  entity.id = id;
  entity.kind = kind;
  entity.made_before = before;
  entity.made_after = now();
  entity.ended = 0;
  Log::instance().made(std::move(entity));
}

// Does something and logs it.
template <class Do>
void log_doing(const char *what, int entity, std::uint64_t number, Do act) {
  Thread &thread = Log::instance().this_thread();
  const Frame in = thread.innermost();
  const std::uint64_t start = now();
  act();
  const std::uint64_t end = now();
  thread.events.push_back({what, entity, number, start, end, "returned", in});
}

// Says whether rclcpp traces callbacks of this kind, so that a row is about them.
enum class Traced { yes, no };

// Lives as long as the body of a callback.
class Execution {
 public:
  Execution(int entity, std::uint64_t number, Traced traced = Traced::yes)
      : thread_(Log::instance().this_thread()), traced_(traced), exceptions_(std::uncaught_exceptions()) {
    event_ = {traced == Traced::yes ? "callback" : "untraced", entity, number, 0, 0, "returned", thread_.innermost()};
    event_.start = now();
    if (traced == Traced::yes) thread_.open.push_back({entity, event_.start});
  }

  ~Execution() {
    event_.end = now();
    if (std::uncaught_exceptions() > exceptions_) event_.outcome = "threw";
    if (traced_ == Traced::yes) thread_.open.pop_back();
    thread_.events.push_back(event_);
  }

  Execution(const Execution &) = delete;
  Execution &operator=(const Execution &) = delete;

 private:
  Thread &thread_;
  Traced traced_;
  int exceptions_;
  Event event_;
};

}  // namespace program
