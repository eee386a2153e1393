#include "rclcpp/subscription.hpp"

#include <stdexcept>

#include "handles.hpp"
#include "standin/lifetime_truth.hpp"
#include "standin/raw_truth.hpp"
#include "tracetools/tracetools.h"

namespace rclcpp {
namespace {

std::shared_ptr<rcl_subscription_t> make_rcl_subscription(
    std::shared_ptr<rcl_node_t> node, const std::string &topic,
    const rosidl_message_type_support_t &type_support, const QoS &qos) {
  auto subscription = Handles<rcl_subscription_t>::take();
  const rcl_ret_t result =
      ground_truth::initialize("subscription", subscription.get(), node.get(), [&] {
        return rcl_subscription_init(subscription.get(), node.get(), &type_support, topic.c_str(),
                                     &qos.get_rmw_qos_profile());
      });
  if (result != RCL_RET_OK) {
    throw std::runtime_error("failed to create a subscription on " + topic);
  }
  return std::shared_ptr<rcl_subscription_t>(
      subscription.release(), [node](rcl_subscription_t *handle) {
        ground_truth::finalize("subscription", handle,
                               [&] { rcl_subscription_fini(handle, node.get()); });
        Handles<rcl_subscription_t>::give_back(handle);
      });
}

}  // namespace

SubscriptionBase::SubscriptionBase(node_interfaces::NodeBaseInterface *node_base,
                                   const rosidl_message_type_support_t &type_support,
                                   const std::string &topic, const QoS &qos, bool is_serialized)
    : node_base_(node_base),
      node_handle_(node_base->get_shared_rcl_node_handle()),
      subscription_handle_(make_rcl_subscription(node_handle_, topic, type_support, qos)),
      node_logger_(rcl_node_get_logger_name(node_handle_.get())),
      type_support_(type_support),
#ifdef STANDIN_HUMBLE
      is_serialized_(is_serialized)
#else
      delivered_message_kind_(is_serialized ? DeliveredMessageKind::SERIALIZED_MESSAGE
                                            : DeliveredMessageKind::ROS_MESSAGE)
#endif
{
  rmw_subscription_set_on_new_message_callback(
      rcl_subscription_get_rmw_handle(subscription_handle_.get()), detail::on_new_work, nullptr);
}

SubscriptionBase::~SubscriptionBase() {
  if (const auto manager = weak_ipm_.lock()) {
    manager->remove_subscription(intra_process_subscription_id_);
  }
}

std::shared_ptr<rcl_subscription_t> SubscriptionBase::get_subscription_handle() {
  return subscription_handle_;
}

const char *SubscriptionBase::get_topic_name() const {
  return rcl_subscription_get_topic_name(subscription_handle_.get());
}

std::size_t SubscriptionBase::get_publisher_count() const {
  std::size_t count = 0;
  rmw_subscription_count_matched_publishers(
      rcl_subscription_get_rmw_handle(subscription_handle_.get()), &count);
  return count;
}

bool SubscriptionBase::has_message() const {
  return standin_has_message(rcl_subscription_get_rmw_handle(subscription_handle_.get()));
}

bool SubscriptionBase::take_type_erased(void *message_out, MessageInfo &message_info_out) {
  const rcl_ret_t result = rcl_take(get_subscription_handle().get(), message_out,
                                    &message_info_out.get_rmw_message_info(), nullptr);
  ros_trace_rclcpp_take(message_out);
  if (result == RCL_RET_SUBSCRIPTION_TAKE_FAILED) return false;
  if (result != RCL_RET_OK) throw std::runtime_error("failed to take");
  return true;
}

bool SubscriptionBase::take_serialized(SerializedMessage &message_out,
                                       MessageInfo &message_info_out) {
  rcl_serialized_message_t *const serialized = &message_out.get_rcl_serialized_message();
  rcl_ret_t result = RCL_RET_ERROR;
  {
    const ground_truth::RawTake take(ground_truth::RawKind::serialized, subscription_handle_.get());
    result = rcl_take_serialized_message(get_subscription_handle().get(), serialized,
                                         &message_info_out.get_rmw_message_info(), nullptr);
  }
#ifdef STANDIN_JAZZY
  ros_trace_rclcpp_take(serialized);
#endif
  if (result == RCL_RET_SUBSCRIPTION_TAKE_FAILED) return false;
  if (result != RCL_RET_OK) throw std::runtime_error("failed to take");
  ground_truth::took_header(
      rosidl::header_stamp(type_support_, serialized->buffer, serialized->buffer_length));
  return true;
}

void *SubscriptionBase::take_loaned(MessageInfo &message_info_out) {
  void *loaned_message = nullptr;
  rcl_ret_t result = RCL_RET_ERROR;
  {
    const ground_truth::RawTake take(ground_truth::RawKind::loaned, subscription_handle_.get());
    result = rcl_take_loaned_message(get_subscription_handle().get(), &loaned_message,
                                     &message_info_out.get_rmw_message_info(), nullptr);
  }
  if (result == RCL_RET_SUBSCRIPTION_TAKE_FAILED) return nullptr;
  if (result != RCL_RET_OK) throw std::runtime_error("failed to take");
  return loaned_message;
}

void SubscriptionBase::return_loaned(void *loaned_message) {
  rcl_return_loaned_message_from_subscription(subscription_handle_.get(), loaned_message);
}

bool SubscriptionBase::can_loan_messages() const {
  return rcl_subscription_can_loan_messages(subscription_handle_.get());
}

bool SubscriptionBase::is_serialized() const {
#ifdef STANDIN_HUMBLE
  return is_serialized_;
#else
  return delivered_message_kind_ == DeliveredMessageKind::SERIALIZED_MESSAGE;
#endif
}

std::shared_ptr<SerializedMessage> SubscriptionBase::create_serialized_message() {
  throw std::logic_error("this subscription takes no serialized messages");
}

void SubscriptionBase::handle_serialized_message(const std::shared_ptr<SerializedMessage> &,
                                                 const MessageInfo &) {
  throw std::logic_error("this subscription takes no serialized messages");
}

void SubscriptionBase::return_serialized_message(std::shared_ptr<SerializedMessage> &) {
  throw std::logic_error("this subscription takes no serialized messages");
}

void SubscriptionBase::handle_loaned_message(void *, const MessageInfo &) {
  throw std::logic_error("this subscription takes no loaned messages");
}

std::shared_ptr<experimental::SubscriptionIntraProcessBase>
SubscriptionBase::get_intra_process_waitable() const {
  return subscription_intra_process_;
}

void SubscriptionBase::setup_intra_process(
    std::uint64_t id, std::weak_ptr<experimental::IntraProcessManager> manager) {
  intra_process_subscription_id_ = id;
  weak_ipm_ = std::move(manager);
  use_intra_process_ = true;
}

bool SubscriptionBase::matches_any_intra_process_publishers(const rmw_gid_t *gid) const {
  if (!use_intra_process_) return false;
  const auto manager = weak_ipm_.lock();
  return manager != nullptr && manager->matches_any_publishers(gid);
}

}  // namespace rclcpp
