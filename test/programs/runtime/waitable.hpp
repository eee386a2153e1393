// A waitable of the program's own.
#pragma once

#include <rclcpp/version.h>

#include <functional>
#include <memory>
#include <rclcpp/guard_condition.hpp>
#include <rclcpp/waitable.hpp>
#include <utility>

namespace program {

class Waitable : public rclcpp::Waitable {
 public:
  explicit Waitable(std::function<void()> body) : body_(std::move(body)) {}

  void trigger() { condition_.trigger(); }

  size_t get_number_of_ready_guard_conditions() override { return 1; }
  std::shared_ptr<void> take_data() override { return nullptr; }
  std::shared_ptr<void> take_data_by_entity_id(size_t) override { return nullptr; }
  void set_on_ready_callback(std::function<void(size_t, int)> callback) override {
    condition_.set_on_trigger_callback([callback](size_t count) { callback(count, 0); });
  }
  void clear_on_ready_callback() override { condition_.set_on_trigger_callback(nullptr); }

#if RCLCPP_VERSION_MAJOR < 28
  void add_to_wait_set(rcl_wait_set_t *set) override { add(*set); }
  bool is_ready(rcl_wait_set_t *set) override { return is_in(*set); }
  void execute(std::shared_ptr<void> &) override { body_(); }
#else
  void add_to_wait_set(rcl_wait_set_t &set) override { add(set); }
  bool is_ready(const rcl_wait_set_t &set) override { return is_in(set); }
  void execute(const std::shared_ptr<void> &) override { body_(); }
#endif

 private:
  void add(rcl_wait_set_t &set) {
    if (rcl_wait_set_add_guard_condition(&set, &condition_.get_rcl_guard_condition(), nullptr) != RCL_RET_OK) std::abort();
  }

  bool is_in(const rcl_wait_set_t &set) const {
    for (size_t i = 0; i < set.size_of_guard_conditions; i++) {
      if (set.guard_conditions[i] == &condition_.get_rcl_guard_condition()) return true;
    }
    return false;
  }

  std::function<void()> body_;
  rclcpp::GuardCondition condition_;
};

}  // namespace program
