// The stand-in's classes have the layouts of the distribution where tracers look. That is checked
// on x86-64; elsewhere, mutexes have other sizes, and so have the classes around them, as those of
// the distribution have.
#ifdef __x86_64__
#include <cstddef>

#include "rclcpp/executor.hpp"
#include "standin_msgs/msg/sample.hpp"

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

#ifdef STANDIN_HUMBLE
#define AT(type, member, humble, jazzy) static_assert(offsetof(type, member) == humble)
#define SIZE(type, humble, jazzy) static_assert(sizeof(type) == humble)
#else
#define AT(type, member, humble, jazzy) static_assert(offsetof(type, member) == jazzy)
#define SIZE(type, humble, jazzy) static_assert(sizeof(type) == jazzy)
#endif

struct LayoutCheck {
  using Message = standin_msgs::msg::Sample;
  using AnySubscriptionCallback = rclcpp::AnySubscriptionCallback<Message>;
  using Subscription = rclcpp::Subscription<Message>;
  using Publisher = rclcpp::Publisher<Message>;
  using IntraSubscription = rclcpp::experimental::SubscriptionIntraProcess<Message, Message>;
  using UniqueBuffer =
      rclcpp::experimental::buffers::RingBufferImplementation<std::unique_ptr<Message>>;
  using TypedBuffer = rclcpp::experimental::buffers::TypedIntraProcessBuffer<Message>;
  using Timer = rclcpp::WallTimer<std::function<void()>>;
  // A timer with a function object of some size and alignment.
  template <std::size_t Size, std::size_t Alignment>
  struct alignas(Alignment) Functor {
    void operator()() const {}
    char captured[Size];
  };
  using TimerOfByte = rclcpp::WallTimer<Functor<1, 1>>;
  using TimerOfTwoBytes = rclcpp::WallTimer<Functor<2, 2>>;
  using TimerOfHalfWords = rclcpp::WallTimer<Functor<12, 4>>;
  using TimerOfLine = rclcpp::WallTimer<Functor<64, 64>>;
  struct ServiceType {
    struct Request {};
    struct Response {};
  };
  using Service = rclcpp::Service<ServiceType>;
  using Client = rclcpp::Client<ServiceType>;
  using EventHandler =
      rclcpp::STANDIN_EVENT_HANDLER<std::function<void(void *)>, std::shared_ptr<rcl_publisher_t>>;

  SIZE(rclcpp::AnyExecutable, 136, 136);
  AT(rclcpp::AnyExecutable, subscription, 8, 8);
  AT(rclcpp::AnyExecutable, timer, 24, 24);
  AT(rclcpp::AnyExecutable, service, 40, 40);
  AT(rclcpp::AnyExecutable, client, 56, 56);
  AT(rclcpp::AnyExecutable, waitable, 72, 72);
  AT(rclcpp::AnyExecutable, callback_group, 88, 88);
  AT(rclcpp::AnyExecutable, node_base, 104, 104);
  AT(rclcpp::AnyExecutable, data, 120, 120);

  SIZE(rclcpp::CallbackGroup, 240, 256);
  AT(rclcpp::CallbackGroup, type_, 0, 0);
  AT(rclcpp::CallbackGroup, associated_with_executor_, 48, 48);
  AT(rclcpp::CallbackGroup, subscription_ptrs_, 56, 56);
  AT(rclcpp::CallbackGroup, timer_ptrs_, 80, 80);
  AT(rclcpp::CallbackGroup, service_ptrs_, 104, 104);
  AT(rclcpp::CallbackGroup, client_ptrs_, 128, 128);
  AT(rclcpp::CallbackGroup, waitable_ptrs_, 152, 152);
  AT(rclcpp::CallbackGroup, can_be_taken_from_, 176, 176);

  SIZE(rclcpp::SubscriptionBase, 360, 592);
  AT(rclcpp::SubscriptionBase, node_base_, 24, 24);
  AT(rclcpp::SubscriptionBase, node_handle_, 32, 32);
  AT(rclcpp::SubscriptionBase, subscription_handle_, 48, 120);
  AT(rclcpp::SubscriptionBase, use_intra_process_, 152, 240);
  AT(rclcpp::SubscriptionBase, weak_ipm_, 160, 248);
  AT(rclcpp::SubscriptionBase, subscription_intra_process_, 184, 272);
  AT(rclcpp::SubscriptionBase, type_support_, 200, 480);
  SIZE(AnySubscriptionCallback, 48, 48);
  SIZE(Subscription, 856, 1240);
  AT(Subscription, any_callback_, 360, 592);

  SIZE(rclcpp::PublisherBase, 200, 376);
  AT(rclcpp::PublisherBase, rcl_node_handle_, 24, 24);
  AT(rclcpp::PublisherBase, publisher_handle_, 40, 40);
  AT(rclcpp::PublisherBase, intra_process_is_enabled_, 112, 112);
  AT(rclcpp::PublisherBase, weak_ipm_, 120, 120);
  AT(rclcpp::PublisherBase, intra_process_publisher_id_, 136, 136);
  AT(rclcpp::PublisherBase, rmw_gid_, 144, 144);
  AT(rclcpp::PublisherBase, type_support_, 176, 168);
  SIZE(Publisher, 488, 744);
  AT(EventHandler, parent_handle_, 104, 104);
  SIZE(rclcpp::GenericPublisher, 216, 392);
  AT(rclcpp::GenericPublisher, ts_lib_, 200, 376);
  SIZE(rclcpp::GenericSubscription, 408, 656);
  AT(rclcpp::GenericSubscription, ts_lib_, 392, 640);
#ifdef STANDIN_HUMBLE
  static_assert(offsetof(rclcpp::SubscriptionBase, is_serialized_) == 224);
  static_assert(offsetof(rclcpp::GenericSubscription, callback_) == 360);
#else
  static_assert(offsetof(rclcpp::SubscriptionBase, delivered_message_kind_) == 528);
  static_assert(offsetof(rclcpp::GenericSubscription, any_callback_) == 592);
#endif

  SIZE(rclcpp::TimerBase, 48, 120);
  AT(rclcpp::TimerBase, timer_handle_, 24, 96);
  SIZE(Timer, 80, 152);
  AT(Timer, callback_, 48, 120);
  AT(TimerOfByte, callback_, 41, 113);
  AT(TimerOfTwoBytes, callback_, 42, 114);
  AT(TimerOfHalfWords, callback_, 44, 116);
  AT(TimerOfLine, callback_, 64, 128);

  SIZE(rclcpp::ServiceBase, 144, 160);
  AT(rclcpp::ServiceBase, node_handle_, 8, 8);
  AT(rclcpp::ServiceBase, service_handle_, 24, 96);
  SIZE(Service, 200, 224);
  AT(Service, any_callback_, 160, 176);
  SIZE(rclcpp::ClientBase, 168, 184);
  AT(rclcpp::ClientBase, node_handle_, 24, 24);
  AT(rclcpp::ClientBase, client_handle_, 72, 160);
  SIZE(Client, 264, 288);

  SIZE(rclcpp::node_interfaces::NodeBase, 336, 216);
  AT(rclcpp::node_interfaces::NodeBase, context_, 24, 24);
  AT(rclcpp::node_interfaces::NodeBase, node_handle_, 48, 48);
  AT(rclcpp::node_interfaces::NodeBase, default_callback_group_, 64, 64);
  AT(rclcpp::node_interfaces::NodeBase, callback_groups_, 120, 120);
  AT(rclcpp::node_interfaces::NodeBase, associated_with_executor_, 144, 144);
  AT(rclcpp::node_interfaces::NodeTimers, node_base_, 8, 8);
  AT(rclcpp::node_interfaces::NodeTopics, node_base_, 8, 8);
  SIZE(rclcpp::Node, 896, 1000);
  AT(rclcpp::Node, node_base_, 24, 24);

  SIZE(rclcpp::GuardCondition, 136, 120);
  SIZE(IntraSubscription, 416, 400);
  AT(IntraSubscription, gc_, 96, 96);
  AT(IntraSubscription, topic_name_, 232, 216);
  AT(IntraSubscription, qos_profile_, 264, 248);
  AT(IntraSubscription, buffer_, 352, 336);
  AT(IntraSubscription, any_callback_, 368, 352);
  SIZE(TypedBuffer, 32, 32);
  AT(TypedBuffer, buffer_, 8, 8);
  SIZE(UniqueBuffer, 104, 104);
  AT(UniqueBuffer, capacity_, 8, 8);
  AT(UniqueBuffer, ring_buffer_, 16, 16);
  AT(UniqueBuffer, write_index_, 40, 40);
  AT(UniqueBuffer, read_index_, 48, 48);
  AT(UniqueBuffer, size_, 56, 56);
  SIZE(rclcpp::experimental::IntraProcessManager, 232, 288);
  AT(rclcpp::experimental::IntraProcessManager, pub_to_subs_, 8, 8);
  AT(rclcpp::experimental::IntraProcessManager, subscriptions_, 64, 64);
  AT(rclcpp::experimental::IntraProcessManager, publishers_, 120, 120);

  SIZE(rclcpp::Executor, 576, 1456);
  AT(rclcpp::Executor, spinning, 8, 8);
  AT(rclcpp::Executor, mutex_, 272, 48);
  AT(rclcpp::Executor, context_, 328, 88);
  AT(rclcpp::Executor, shutdown_guard_condition_, 152, 32);
  AT(rclcpp::Executor, shutdown_callback_handle_, 560, 1432);
#ifdef STANDIN_HUMBLE
  static_assert(offsetof(rclcpp::Executor, weak_groups_to_guard_conditions_) == 344);
  static_assert(offsetof(rclcpp::Executor, weak_groups_associated_with_executor_to_nodes_) == 392);
  static_assert(offsetof(rclcpp::Executor, weak_groups_to_nodes_associated_with_executor_) == 440);
  static_assert(offsetof(rclcpp::Executor, weak_groups_to_nodes_) == 488);
  static_assert(offsetof(rclcpp::Executor, weak_nodes_) == 536);
  using StaticCollector = rclcpp::executors::StaticExecutorEntitiesCollector;
  static_assert(sizeof(StaticCollector) == 456);
  static_assert(offsetof(StaticCollector, weak_groups_associated_with_executor_to_nodes_) == 48);
  static_assert(offsetof(StaticCollector, weak_groups_to_nodes_associated_with_executor_) == 96);
  static_assert(offsetof(StaticCollector, weak_nodes_) == 192);
  static_assert(offsetof(rclcpp::executors::StaticSingleThreadedExecutor, entities_collector_) ==
                576);
#else
  static_assert(offsetof(rclcpp::Executor, notify_waitable_) == 104);
  static_assert(offsetof(rclcpp::Executor, entities_need_rebuild_) == 120);
  static_assert(offsetof(rclcpp::Executor, collector_) == 128);
  static_assert(offsetof(rclcpp::Executor, current_collection_) == 1080);
  static_assert(offsetof(rclcpp::Executor, current_notify_waitable_) == 1416);
  using EntitiesCollector = rclcpp::executors::ExecutorEntitiesCollector;
  static_assert(sizeof(EntitiesCollector) == 488);
  static_assert(offsetof(EntitiesCollector, manually_added_groups_) == 40);
  static_assert(offsetof(EntitiesCollector, automatically_added_groups_) == 88);
  static_assert(offsetof(EntitiesCollector, weak_nodes_) == 136);
  static_assert(offsetof(EntitiesCollector, pending_added_nodes_) == 280);
#endif
  SIZE(rclcpp::executors::StaticSingleThreadedExecutor, 592, 1456);
  SIZE(rclcpp::executors::MultiThreadedExecutor, 640, 1520);
  AT(rclcpp::executors::MultiThreadedExecutor, number_of_threads_, 616, 1496);

  SIZE(rclcpp::Context, 592, 528);
  AT(rclcpp::Context, rcl_context_, 64, 64);
  AT(rclcpp::Context, sub_contexts_, 200, 200);
  SIZE(rclcpp::MessageInfo, 80, 72);
};
#endif
