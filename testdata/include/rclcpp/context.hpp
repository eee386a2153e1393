#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <typeindex>
#include <unordered_map>

#include "rcl/rcl.h"

struct LayoutCheck;

namespace rclcpp {

namespace experimental {
class IntraProcessManager;
}

// rcl_init and the one sub-context that matters here, the intra-process manager.
class Context : public std::enable_shared_from_this<Context> {
 public:
  Context();
  virtual ~Context();

  void init(std::size_t domain_id);
  rcl_context_t *get_rcl_context() const { return rcl_context_.get(); }
  std::shared_ptr<experimental::IntraProcessManager> get_intra_process_manager();

 private:
  friend struct ::LayoutCheck;

  std::recursive_mutex init_mutex_;
  std::shared_ptr<rcl_context_t> rcl_context_;
  std::byte init_options_[72]{};
  std::string shutdown_reason_;
  std::shared_ptr<std::mutex> logging_mutex_;
  std::unordered_map<std::type_index, std::shared_ptr<void>> sub_contexts_;
  std::recursive_mutex sub_contexts_mutex_;
#ifdef STANDIN_HUMBLE
  std::byte callbacks_[296]{};
#else
  std::byte callbacks_[232]{};
#endif
};

// False after request_shutdown().
bool ok() noexcept;
// Makes ok() false, which ends the spin functions.
void request_shutdown();

namespace detail {

// Wakes executors that wait for work: a message arrived, a callback group became free, an entity
// was added.
void notify_executors();
// The same, and makes them look for groups and entities again.
void entities_changed();
// Grows with every such change.
std::uint64_t entities_generation() noexcept;
// What to remember before looking for work, so that no wake-up is missed.
std::uint64_t work_generation() noexcept;
// Waits until notify_executors() was called after `generation` was read, or the time is over.
void wait_for_notification(std::uint64_t generation, std::chrono::nanoseconds timeout);
// The callback for rmw's on_new_message and its kin.
void on_new_work(const void *, std::size_t);

}  // namespace detail
}  // namespace rclcpp
