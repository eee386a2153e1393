#include <thread>
#include <vector>

#include "executor_state.hpp"
#include "standin/executor_truth.hpp"

namespace rclcpp::executors {
namespace {

constexpr std::chrono::nanoseconds kForever{-1};

}  // namespace

SingleThreadedExecutor::SingleThreadedExecutor(const ExecutorOptions &options) : Executor(options) {
#ifdef STANDIN_HUMBLE
  const void *const collector = nullptr;
#else
  const void *const collector = &collector_;
#endif
  ground_truth::executor_constructed(this, "single_threaded_executor", collector, options.created);
}

SingleThreadedExecutor::~SingleThreadedExecutor() { destroying(); }

void SingleThreadedExecutor::spin() {
  const detail::SetWhileAlive guard(spinning);
  while (ok() && spinning) {
    AnyExecutable any_executable;
    if (get_next_executable(any_executable, kForever)) execute_any_executable(any_executable);
  }
}

MultiThreadedExecutor::MultiThreadedExecutor(const ExecutorOptions &options,
                                             std::size_t number_of_threads,
                                             bool yield_before_execute,
                                             std::chrono::nanoseconds timeout)
    : Executor(options),
      number_of_threads_(number_of_threads != 0 ? number_of_threads
                                                : std::thread::hardware_concurrency()),
      yield_before_execute_(yield_before_execute),
      next_exec_timeout_(timeout) {
#ifdef STANDIN_HUMBLE
  const void *const collector = nullptr;
#else
  const void *const collector = &collector_;
#endif
  ground_truth::executor_constructed(this, "multi_threaded_executor", collector, options.created);
}

MultiThreadedExecutor::~MultiThreadedExecutor() { destroying(); }

void MultiThreadedExecutor::set_on_exception(void (*handler)()) { state_->on_exception = handler; }

void MultiThreadedExecutor::spin() {
  const detail::SetWhileAlive guard(spinning);
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < number_of_threads_; ++i) threads.emplace_back([this] { run(); });
  run();
  for (std::thread &thread : threads) thread.join();
}

void MultiThreadedExecutor::run() {
  while (ok() && spinning) {
    AnyExecutable any_executable;
    {
      const std::lock_guard lock(wait_mutex_);
      if (!ok() || !spinning) return;
      if (!get_next_executable(any_executable, next_exec_timeout_)) continue;
    }
    if (yield_before_execute_) std::this_thread::yield();
    try {
      execute_any_executable(any_executable);
    } catch (const std::exception &) {
      if (state_->on_exception == nullptr) throw;
      state_->on_exception();
    }
  }
}

}  // namespace rclcpp::executors
