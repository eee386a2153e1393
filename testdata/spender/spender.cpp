// spender FILE: a node whose callbacks spend their time in different ways: they compute, sleep,
// wait for a mutex, or lose their CPU to a thread of higher priority, for which it needs the right
// to have one. It writes a line into FILE for each, with what the kernel tells of its thread: the
// way, when it began and ended (CLOCK_MONOTONIC), for how long the thread was on a CPU and for how
// long it could have been (all in nanoseconds), and how often it was switched away without and
// with its will. It is built against the stand-ins and against ROS 2.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "../any_ros.hpp"

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kPeriod{40};
constexpr milliseconds kSpent{5};
constexpr milliseconds kDrifting{101};  // more than twice what the others take on a busy machine
constexpr int kNice = -19;              // so that a busy machine leaves callbacks their CPU

[[noreturn]] void fail(int error, const char *what) {
  throw std::system_error(error, std::generic_category(), what);
}

nanoseconds now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

// Takes time of the thread's, whatever else happens.
void compute(nanoseconds time) {
  const nanoseconds until = now(CLOCK_THREAD_CPUTIME_ID) + time;
  while (now(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
}

// What the kernel tells of the thread that asks.
struct Account {
  nanoseconds time, on_cpu;
  std::uint64_t waited = 0;  // for a CPU, in nanoseconds
  long preempted = 0, blocked = 0;

  explicit Account(int statistics)
      : time(now(CLOCK_MONOTONIC)), on_cpu(now(CLOCK_THREAD_CPUTIME_ID)) {
    char text[128] = {};
    std::uint64_t ran = 0;
    if (pread(statistics, text, sizeof(text) - 1, 0) <= 0 ||
        std::sscanf(text, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2) {
      fail(errno, "schedstat");
    }
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    preempted = usage.ru_nivcsw;
    blocked = usage.ru_nvcsw;
  }
};

// Writes lines into a file, from a thread of its own.
class Log {
 public:
  explicit Log(const char *path) : file_(std::fopen(path, "w")) {
    if (file_ == nullptr) fail(errno, path);
    std::thread([this] {
      for (;; std::this_thread::sleep_for(kPeriod)) write();
    }).detach();
  }

  void add(std::string line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    lines_.push_back(std::move(line));
  }

 private:
  void write() {
    std::vector<std::string> lines;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      lines.swap(lines_);
    }
    for (const std::string &line : lines) std::fprintf(file_, "%s\n", line.c_str());
    std::fflush(file_);
  }

  std::FILE *file_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Writes down what a callback has taken.
class Spending {
 public:
  Spending(Log &log, int statistics, const char *way)
      : log_(log), statistics_(statistics), way_(way), before_(statistics) {}

  ~Spending() {
    const Account after(statistics_);
    std::ostringstream line;
    line << way_ << ' ' << before_.time.count() << ' ' << after.time.count() << ' '
         << (after.on_cpu - before_.on_cpu).count() << ' ' << after.waited - before_.waited << ' '
         << after.preempted - before_.preempted << ' ' << after.blocked - before_.blocked;
    log_.add(line.str());
  }

  Spending(const Spending &) = delete;
  Spending &operator=(const Spending &) = delete;

 private:
  Log &log_;
  int statistics_;
  const char *way_;
  Account before_;
};

void pin(pthread_t thread, int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  const int error = pthread_setaffinity_np(thread, sizeof(cpus), &cpus);
  if (error != 0) fail(error, "pinning a thread");
}

// A thread that computes when it is asked to, before all threads without a priority.
class Hog {
 public:
  explicit Hog(int cpu) {
    sem_init(&asked_, 0, 0);
    std::thread thread([this] {
      for (;;) {
        while (sem_wait(&asked_) != 0) {
        }
        compute(kSpent);
      }
    });
    pin(thread.native_handle(), cpu);
    sched_param parameters{};
    parameters.sched_priority = 1;
    const int error = pthread_setschedparam(thread.native_handle(), SCHED_FIFO, &parameters);
    thread.detach();
    if (error != 0) fail(error, "giving a thread a priority");
  }

  void ask() { sem_post(&asked_); }

 private:
  sem_t asked_{};
};

// A thread that holds a mutex for a while when it is asked to.
class Holder {
 public:
  Holder() {
    sem_init(&asked_, 0, 0);
    sem_init(&held_, 0, 0);
    std::thread([this] {
      for (;;) {
        while (sem_wait(&asked_) != 0) {
        }
        const std::lock_guard<std::mutex> lock(mutex_);
        sem_post(&held_);
        std::this_thread::sleep_for(kSpent);
      }
    }).detach();
  }

  // Returns when it is held.
  void ask() {
    sem_post(&asked_);
    while (sem_wait(&held_) != 0) {
    }
  }

  std::mutex &mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  sem_t asked_{}, held_{};
};

}  // namespace

int main(int count, char **arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: spender FILE\n");
    return EXIT_FAILURE;
  }
  if (setpriority(PRIO_PROCESS, 0, kNice) != 0) fail(errno, "setpriority");
  static Log log(arguments[1]);
  any_ros::initialize(count, arguments);
  const std::shared_ptr<rclcpp::Node> node = any_ros::make_node("spender");
  const int statistics = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (statistics < 0) fail(errno, "/proc/thread-self/schedstat");
  const int cpu = sched_getcpu();
  pin(pthread_self(), cpu);
  static Hog hog(cpu);
  static Holder holder;

  const auto computes = [=] {
    const Spending spending(log, statistics, "computes");
    compute(kSpent);
  };
  const auto sleeps = [=] {
    const Spending spending(log, statistics, "sleeps");
    std::this_thread::sleep_for(kSpent);
  };
  const auto waits = [=] {
    const Spending spending(log, statistics, "waits");
    holder.ask();
    const std::lock_guard<std::mutex> lock(holder.mutex());
  };
  const auto is_preempted = [=] {
    const Spending spending(log, statistics, "is_preempted");
    hog.ask();
    compute(kSpent);
  };
  // Does nothing, and is due at any time: also while others run.
  const auto comes_late = [] {};
  const auto all = std::make_tuple(
      node->create_wall_timer(kPeriod, computes), node->create_wall_timer(kPeriod, sleeps),
      node->create_wall_timer(kPeriod, waits), node->create_wall_timer(kPeriod, is_preempted),
      node->create_wall_timer(kDrifting, comes_late));
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(node);
  log.add("ready");
  executor.spin();
  return EXIT_SUCCESS;
}
