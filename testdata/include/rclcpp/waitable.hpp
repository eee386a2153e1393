#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "rclcpp/context.hpp"

namespace rclcpp {

class Waitable {
 public:
  virtual ~Waitable() = default;
  virtual bool is_ready() const = 0;
  virtual std::shared_ptr<void> take_data() = 0;
  virtual void execute(const std::shared_ptr<void> &data) = 0;

 private:
  std::atomic<bool> in_use_by_wait_set_{false};
};

class GuardCondition {
 public:
  explicit GuardCondition(std::shared_ptr<Context> context);
  virtual ~GuardCondition();
  void trigger();

 private:
  friend struct ::LayoutCheck;

#ifdef STANDIN_HUMBLE
  std::shared_ptr<Context> context_;
#endif
  rcl_guard_condition_t rcl_guard_condition_{};
  std::atomic<bool> in_use_by_wait_set_{false};
  std::recursive_mutex reentrant_mutex_;
  std::function<void(std::size_t)> on_trigger_callback_;
  std::size_t unread_count_ = 0;
  void *wait_set_ = nullptr;
};

// Where publishers hang in their callback group: QoS event handlers. Events never come here.
#ifdef STANDIN_HUMBLE
#define STANDIN_EVENT_HANDLER QOSEventHandler
#else
#define STANDIN_EVENT_HANDLER EventHandler
#endif

template <typename EventCallbackT, typename ParentHandleT>
class STANDIN_EVENT_HANDLER : public Waitable {
 public:
  explicit STANDIN_EVENT_HANDLER(ParentHandleT parent_handle) : parent_handle_(parent_handle) {}
  bool is_ready() const override { return false; }
  std::shared_ptr<void> take_data() override { return nullptr; }
  void execute(const std::shared_ptr<void> &) override {}

 private:
  friend struct ::LayoutCheck;

  std::recursive_mutex callback_mutex_;
  std::function<void(std::size_t)> on_new_event_callback_;
  void *event_handle_ = nullptr;
  std::size_t wait_set_event_index_ = 0;
  ParentHandleT parent_handle_;
  EventCallbackT event_callback_;
};

}  // namespace rclcpp
