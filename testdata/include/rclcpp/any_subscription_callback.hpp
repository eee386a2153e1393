#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <variant>

#include "rclcpp/run_callback.hpp"

namespace rclcpp {

// A user's function in one of three forms.
template <typename MessageT, typename AllocatorT = std::allocator<void>>
class AnySubscriptionCallback {
 public:
  using ConstReference = std::function<void(const MessageT &)>;
  using UniquePointer = std::function<void(std::unique_ptr<MessageT>)>;
  using SharedConstPointer = std::function<void(std::shared_ptr<const MessageT>)>;

  template <typename CallbackT>
  explicit AnySubscriptionCallback(CallbackT callback) {
    if constexpr (std::is_invocable_v<CallbackT, const MessageT &>) {
      callback_variant_ = ConstReference(std::move(callback));
    } else if constexpr (std::is_invocable_v<CallbackT, std::shared_ptr<const MessageT>>) {
      callback_variant_ = SharedConstPointer(std::move(callback));
    } else {
      callback_variant_ = UniquePointer(std::move(callback));
    }
  }

  // Whether the intra-process buffer holds shared_ptrs.
  bool use_take_shared_method() const {
    return std::holds_alternative<SharedConstPointer>(callback_variant_);
  }

  void dispatch(std::shared_ptr<MessageT> message) {
    detail::run_callback(this, ground_truth::CallbackKind::subscription, [&] {
      if (const auto *const by_reference = std::get_if<ConstReference>(&callback_variant_)) {
        (*by_reference)(*message);
      } else if (const auto *const shared = std::get_if<SharedConstPointer>(&callback_variant_)) {
        (*shared)(message);
      } else {
        std::get<UniquePointer>(callback_variant_)(std::make_unique<MessageT>(*message));
      }
    });
  }

  void dispatch_intra_process(std::shared_ptr<const MessageT> message) {
    detail::run_callback(this, ground_truth::CallbackKind::intra_subscription,
                         [&] { std::get<SharedConstPointer>(callback_variant_)(message); });
  }

  void dispatch_intra_process(std::unique_ptr<MessageT> message) {
    detail::run_callback(this, ground_truth::CallbackKind::intra_subscription, [&] {
      if (const auto *const by_reference = std::get_if<ConstReference>(&callback_variant_)) {
        (*by_reference)(*message);
      } else {
        std::get<UniquePointer>(callback_variant_)(std::move(message));
      }
    });
  }

  void register_callback_for_tracing() const {
    std::visit([this](const auto &function) { detail::register_callback(this, function); },
               callback_variant_);
  }

 private:
  std::variant<ConstReference, UniquePointer, SharedConstPointer> callback_variant_;
  void *subscribed_type_deleter_ = nullptr;
};

}  // namespace rclcpp
