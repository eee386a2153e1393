#pragma once

#include <string>
#include <utility>

#include "rclcpp/any_subscription_callback.hpp"
#include "rclcpp/experimental/ring_buffer.hpp"
#include "rclcpp/qos.hpp"
#include "rclcpp/waitable.hpp"

namespace rclcpp::experimental {

class SubscriptionIntraProcessBase : public Waitable {
 public:
  SubscriptionIntraProcessBase(std::shared_ptr<Context> context, const std::string &topic_name,
                               const QoS &qos)
      : gc_(std::move(context)), topic_name_(topic_name), qos_profile_(qos) {}

  const char *get_topic_name() const;
  virtual bool use_take_shared_method() const = 0;

 protected:
  friend struct ::LayoutCheck;

  std::recursive_mutex callback_mutex_;
  std::function<void(std::size_t)> on_new_message_callback_;
  std::size_t unread_count_ = 0;
  GuardCondition gc_;
  std::string topic_name_;
  QoS qos_profile_;
};

template <typename SubscribedType, typename Alloc = std::allocator<SubscribedType>,
          typename Deleter = std::default_delete<SubscribedType>,
          typename ROSMessageType = SubscribedType>
class SubscriptionIntraProcessBuffer : public SubscriptionIntraProcessBase {
 public:
  using Buffer = buffers::IntraProcessBuffer<SubscribedType, Alloc, Deleter>;
  using UniquePtr = std::unique_ptr<SubscribedType>;
  using SharedPtr = std::shared_ptr<const SubscribedType>;

  SubscriptionIntraProcessBuffer(std::shared_ptr<Context> context, const std::string &topic_name,
                                 const QoS &qos, bool shared)
      : SubscriptionIntraProcessBase(std::move(context), topic_name, qos) {
    if (shared) {
      buffer_ = make_buffer<SharedPtr>(qos.depth());
    } else {
      buffer_ = make_buffer<UniquePtr>(qos.depth());
    }
    const ground_truth::Bracket times = ground_truth::bracket([&] {
#ifdef STANDIN_JAZZY
      ros_trace_rclcpp_ipb_to_subscription(buffer_.get(), this);
#endif
    });
    ground_truth::ipb_to_subscription(buffer_.get(), this, times);
  }

  bool is_ready() const override { return buffer_->has_data(); }
  bool use_take_shared_method() const override { return buffer_->use_take_shared_method(); }
  const void *ring_buffer() const { return buffer_->ring_buffer(); }

  void provide_intra_process_data(SharedPtr message) {
    buffer_->add_shared(std::move(message));
    gc_.trigger();
  }
  void provide_intra_process_data(UniquePtr message) {
    buffer_->add_unique(std::move(message));
    gc_.trigger();
  }

 protected:
  friend struct ::LayoutCheck;

  template <typename BufferT>
  static std::unique_ptr<Buffer> make_buffer(std::size_t capacity) {
    return std::make_unique<
        buffers::TypedIntraProcessBuffer<SubscribedType, Alloc, Deleter, BufferT>>(
        std::make_unique<buffers::RingBufferImplementation<BufferT>>(capacity));
  }

  std::unique_ptr<Buffer> buffer_;
  Alloc *subscribed_type_allocator_ = nullptr;
};

template <typename MessageT, typename SubscribedType,
          typename SubscribedTypeAlloc = std::allocator<SubscribedType>,
          typename SubscribedTypeDeleter = std::default_delete<SubscribedType>,
          typename ROSMessageType = SubscribedType, typename Alloc = std::allocator<void>>
class SubscriptionIntraProcess
    : public SubscriptionIntraProcessBuffer<SubscribedType, SubscribedTypeAlloc,
                                            SubscribedTypeDeleter, ROSMessageType> {
  using Base = SubscriptionIntraProcessBuffer<SubscribedType, SubscribedTypeAlloc,
                                              SubscribedTypeDeleter, ROSMessageType>;
  using Data = std::pair<typename Base::SharedPtr, typename Base::UniquePtr>;

 public:
  SubscriptionIntraProcess(AnySubscriptionCallback<MessageT, Alloc> callback,
                           std::shared_ptr<Context> context, const std::string &topic_name,
                           const QoS &qos)
      : Base(std::move(context), topic_name, qos, callback.use_take_shared_method()),
        any_callback_(std::move(callback)) {
    ros_trace_rclcpp_subscription_callback_added(this, &any_callback_);
    any_callback_.register_callback_for_tracing();
  }

  std::shared_ptr<void> take_data() override {
    Data data;
    if (any_callback_.use_take_shared_method()) {
      data.first = this->buffer_->consume_shared();
      if (data.first == nullptr) return nullptr;
    } else {
      data.second = this->buffer_->consume_unique();
      if (data.second == nullptr) return nullptr;
    }
    if (this->buffer_->has_data()) this->gc_.trigger();
    return std::make_shared<Data>(std::move(data));
  }

  void execute(const std::shared_ptr<void> &data) override {
    if (data == nullptr) return;
    auto &messages = *static_cast<Data *>(data.get());
    if (any_callback_.use_take_shared_method()) {
      any_callback_.dispatch_intra_process(messages.first);
    } else {
      any_callback_.dispatch_intra_process(std::move(messages.second));
    }
  }

  const void *callback_address() const { return &any_callback_; }

 private:
  friend struct ::LayoutCheck;
  AnySubscriptionCallback<MessageT, Alloc> any_callback_;
};

}  // namespace rclcpp::experimental
