#include "rclcpp/context.hpp"

#include <atomic>
#include <condition_variable>
#include <stdexcept>

#include "rclcpp/experimental/intra_process_manager.hpp"

namespace rclcpp {
namespace {

std::atomic<bool> running{true};
std::atomic<std::uint64_t> entities{0};

struct Signal {
  std::mutex mutex;
  std::condition_variable condition;
  std::atomic<std::uint64_t> generation{0};
  std::atomic<unsigned> waiters{0};
};

// Never destroyed: DDS threads may still call when the process ends.
Signal &work() {
  static Signal *const instance = new Signal;
  return *instance;
}

}  // namespace

Context::Context() = default;

Context::~Context() {
  sub_contexts_.clear();
  if (rcl_context_ != nullptr) rcl_shutdown(rcl_context_.get());
}

void Context::init(std::size_t domain_id) {
  rcl_context_ = std::make_shared<rcl_context_t>();
  if (rcl_init(domain_id, rcl_context_.get()) != RCL_RET_OK) {
    rcl_context_.reset();
    throw std::runtime_error("failed to initialize rcl");
  }
}

std::shared_ptr<experimental::IntraProcessManager> Context::get_intra_process_manager() {
  using experimental::IntraProcessManager;
  const std::lock_guard lock(sub_contexts_mutex_);
  std::shared_ptr<void> &entry = sub_contexts_[typeid(IntraProcessManager)];
  if (entry == nullptr) entry = std::make_shared<IntraProcessManager>();
  return std::static_pointer_cast<IntraProcessManager>(entry);
}

bool ok() noexcept { return running; }

void request_shutdown() {
  running = false;
  detail::notify_executors();
}

namespace detail {

void notify_executors() {
  Signal &signal = work();
  ++signal.generation;
  if (signal.waiters == 0) return;
  const std::lock_guard lock(signal.mutex);
  signal.condition.notify_all();
}

void entities_changed() {
  ++entities;
  notify_executors();
}

std::uint64_t entities_generation() noexcept { return entities; }

std::uint64_t work_generation() noexcept { return work().generation; }

void wait_for_notification(std::uint64_t generation, std::chrono::nanoseconds timeout) {
  Signal &signal = work();
  ++signal.waiters;
  std::unique_lock lock(signal.mutex);
  signal.condition.wait_for(lock, timeout,
                            [&] { return signal.generation != generation || !ok(); });
  --signal.waiters;
}

void on_new_work(const void *, std::size_t) { notify_executors(); }

}  // namespace detail
}  // namespace rclcpp
