#include "rclcpp/publisher.hpp"

#include <cstring>

#include "handles.hpp"
#include "standin/lifetime_truth.hpp"

namespace rclcpp {
namespace {

using IncompatibleQosHandler =
    STANDIN_EVENT_HANDLER<std::function<void(void *)>, std::shared_ptr<rcl_publisher_t>>;
constexpr int kOfferedQosIncompatible = 5;

std::shared_ptr<rcl_publisher_t> make_rcl_publisher(
    std::shared_ptr<rcl_node_t> node, const std::string &topic,
    const rosidl_message_type_support_t &type_support, const QoS &qos) {
  auto publisher = Handles<rcl_publisher_t>::take();
  const rcl_ret_t result = ground_truth::initialize("publisher", publisher.get(), node.get(), [&] {
    return rcl_publisher_init(publisher.get(), node.get(), &type_support, topic.c_str(),
                              &qos.get_rmw_qos_profile());
  });
  if (result != RCL_RET_OK) {
    throw std::runtime_error("failed to create a publisher on " + topic);
  }
  return std::shared_ptr<rcl_publisher_t>(publisher.release(), [node](rcl_publisher_t *handle) {
    ground_truth::finalize("publisher", handle, [&] { rcl_publisher_fini(handle, node.get()); });
    Handles<rcl_publisher_t>::give_back(handle);
  });
}

}  // namespace

PublisherBase::PublisherBase(node_interfaces::NodeBaseInterface *node_base,
                             const std::string &topic,
                             const rosidl_message_type_support_t &type_support, const QoS &qos)
    : rcl_node_handle_(node_base->get_shared_rcl_node_handle()),
      publisher_handle_(make_rcl_publisher(rcl_node_handle_, topic, type_support, qos)),
      type_support_(type_support) {
  rmw_get_gid_for_publisher(rcl_publisher_get_rmw_handle(publisher_handle_.get()), &rmw_gid_);
  event_handlers_.emplace(kOfferedQosIncompatible,
                          std::make_shared<IncompatibleQosHandler>(publisher_handle_));
}

PublisherBase::~PublisherBase() {
  if (const auto manager = weak_ipm_.lock()) manager->remove_publisher(intra_process_publisher_id_);
}

std::shared_ptr<rcl_publisher_t> PublisherBase::get_publisher_handle() { return publisher_handle_; }

const char *PublisherBase::get_topic_name() const {
  return rcl_publisher_get_topic_name(publisher_handle_.get());
}

std::size_t PublisherBase::get_subscription_count() const {
  std::size_t count = 0;
  if (rcl_publisher_get_subscription_count(publisher_handle_.get(), &count) != RCL_RET_OK) {
    throw std::runtime_error("failed to get the subscription count");
  }
  return count;
}

std::size_t PublisherBase::get_intra_process_subscription_count() const {
  const auto manager = weak_ipm_.lock();
  return manager == nullptr ? 0 : manager->get_subscription_count(intra_process_publisher_id_);
}

bool PublisherBase::matches_gid(const rmw_gid_t &gid) const {
  return std::memcmp(rmw_gid_.data, gid.data, sizeof gid.data) == 0;
}

void PublisherBase::setup_intra_process(
    std::shared_ptr<experimental::IntraProcessManager> manager) {
  intra_process_publisher_id_ = manager->add_publisher(shared_from_this());
  weak_ipm_ = manager;
  intra_process_is_enabled_ = true;
}

std::shared_ptr<Waitable> PublisherBase::event_handler() const {
  return event_handlers_.at(kOfferedQosIncompatible);
}

}  // namespace rclcpp
