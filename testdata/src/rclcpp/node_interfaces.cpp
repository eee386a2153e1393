#include "rclcpp/node_interfaces.hpp"

#include <stdexcept>

#include "handles.hpp"
#include "rclcpp/publisher.hpp"
#include "rclcpp/service.hpp"
#include "rclcpp/subscription.hpp"
#include "rclcpp/timer.hpp"
#include "standin/executor_truth.hpp"
#include "standin/lifetime_truth.hpp"
#include "tracetools/tracetools.h"

namespace rclcpp::node_interfaces {
namespace {

std::shared_ptr<CallbackGroup> or_default(const std::shared_ptr<CallbackGroup> &group,
                                          NodeBaseInterface &node_base) {
  return group != nullptr ? group : node_base.get_default_callback_group();
}

// Adds an entity to a group and lets executors know.
template <typename Add>
void added(const char *what, const CallbackGroup &group, const void *handle, Add &&add) {
  const ground_truth::Bracket times = ground_truth::bracket(add);
  ground_truth::added_to_group(what, &group, handle, times);
  detail::entities_changed();
}

std::shared_ptr<rcl_node_t> make_rcl_node(const std::string &name, const std::string &name_space,
                                          rcl_context_t *context) {
  auto node = Handles<rcl_node_t>::take();
  const rcl_ret_t result = ground_truth::initialize("node", node.get(), nullptr, [&] {
    return rcl_node_init(node.get(), name.c_str(), name_space.c_str(), context);
  });
  if (result != RCL_RET_OK) {
    throw std::runtime_error("failed to initialize the rcl node");
  }
  return std::shared_ptr<rcl_node_t>(node.release(), [](rcl_node_t *rcl_node) {
    ground_truth::finalize("node", rcl_node, [&] { rcl_node_fini(rcl_node); });
    Handles<rcl_node_t>::give_back(rcl_node);
  });
}

}  // namespace

NodeBase::NodeBase(const std::string &name, const std::string &name_space,
                   std::shared_ptr<Context> context, bool use_intra_process)
    : context_(std::move(context)),
      use_intra_process_default_(use_intra_process),
      node_handle_(make_rcl_node(name, name_space, context_->get_rcl_context())),
#ifdef STANDIN_HUMBLE
      notify_guard_condition_(context_)
#else
      notify_guard_condition_(std::make_shared<GuardCondition>(context_))
#endif
{
  default_callback_group_ = create_callback_group(CallbackGroupType::MutuallyExclusive, true);
  const rcl_node_t *const handle = node_handle_.get();
  ground_truth::entity("node\tnode=" + ground_truth::hex(handle) +
                       "\trmw_node=" + ground_truth::hex(rcl_node_get_rmw_handle(handle)) +
                       "\tname=" + name + "\tnamespace=" + name_space);
}

NodeBase::~NodeBase() = default;

rcl_node_t *NodeBase::get_rcl_node_handle() { return node_handle_.get(); }

void NodeBase::for_each_callback_group(
    const std::function<void(std::shared_ptr<CallbackGroup>)> &visit) {
  const std::lock_guard lock(callback_groups_mutex_);
  for (const std::weak_ptr<CallbackGroup> &group : callback_groups_) {
    if (const std::shared_ptr<CallbackGroup> alive = group.lock()) visit(alive);
  }
}

std::shared_ptr<CallbackGroup> NodeBase::create_callback_group(CallbackGroupType type,
                                                               bool automatically) {
  auto group = std::make_shared<CallbackGroup>(type);
  group->set_automatically_add_to_executor_with_node(automatically);
  const std::lock_guard lock(callback_groups_mutex_);
  callback_groups_.push_back(group);
  ground_truth::group_created(group.get(), name_of(type), node_handle_.get(), automatically);
  detail::entities_changed();
  return group;
}

NodeTimers::NodeTimers(NodeBaseInterface *node_base) : node_base_(node_base) {}
NodeTimers::~NodeTimers() = default;

void NodeTimers::add_timer(std::shared_ptr<TimerBase> timer, std::shared_ptr<CallbackGroup> group) {
  const std::shared_ptr<CallbackGroup> target = or_default(group, *node_base_);
  const rcl_timer_t *const handle = timer->get_timer_handle().get();
  added("add_timer", *target, handle, [&] { target->add_timer(timer); });
  ros_trace_rclcpp_timer_link_node(handle, node_base_->get_rcl_node_handle());
}

NodeTopics::NodeTopics(NodeBaseInterface *node_base, NodeTimers *node_timers)
    : node_base_(node_base), node_timers_(node_timers) {}
NodeTopics::~NodeTopics() = default;

void NodeTopics::add_publisher(std::shared_ptr<PublisherBase> publisher,
                               std::shared_ptr<CallbackGroup> group) {
  or_default(group, *node_base_)->add_waitable(publisher->event_handler());
  detail::entities_changed();
}

void NodeTopics::add_subscription(std::shared_ptr<SubscriptionBase> subscription,
                                  std::shared_ptr<CallbackGroup> group) {
  const std::shared_ptr<CallbackGroup> target = or_default(group, *node_base_);
  added("add_subscription", *target, subscription->get_subscription_handle().get(),
        [&] { target->add_subscription(subscription); });
  if (const auto intra = subscription->get_intra_process_waitable()) target->add_waitable(intra);
  detail::entities_changed();
}

NodeServices::NodeServices(NodeBaseInterface *node_base) : node_base_(node_base) {}
NodeServices::~NodeServices() = default;

void NodeServices::add_service(std::shared_ptr<ServiceBase> service,
                               std::shared_ptr<CallbackGroup> group) {
  const std::shared_ptr<CallbackGroup> target = or_default(group, *node_base_);
  added("add_service", *target, service->get_service_handle().get(),
        [&] { target->add_service(service); });
}

void NodeServices::add_client(std::shared_ptr<ClientBase> client,
                              std::shared_ptr<CallbackGroup> group) {
  const std::shared_ptr<CallbackGroup> target = or_default(group, *node_base_);
  added("add_client", *target, client->get_client_handle().get(),
        [&] { target->add_client(client); });
}

}  // namespace rclcpp::node_interfaces
