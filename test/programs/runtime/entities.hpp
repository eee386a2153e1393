// Entities that log when they are made, and what is done with them.
#pragma once

#include <example_interfaces/srv/add_two_ints.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "log.hpp"
#include "messages.hpp"

namespace program {

using AddTwoInts = example_interfaces::srv::AddTwoInts;
using Header = std::shared_ptr<rmw_request_id_t>;
using Request = AddTwoInts::Request::SharedPtr;
using Response = AddTwoInts::Response::SharedPtr;

// What callbacks throw and whoever spins catches.
struct Thrown : std::exception {};

// What lambdas capture by value: so many bytes, aligned in such a way.
template <std::size_t size>
struct Bytes {
  unsigned char held[size] = {};
};

template <std::size_t alignment>
struct alignas(alignment) Aligned {
  unsigned char held = 0;
};

struct BoolAndShort {
  bool one = true;
  short other = 2;
};

// What lambdas refer to.
inline std::uint64_t referred = 0;

// Bases that make functors polymorphic.
struct Base {
  virtual ~Base() = default;
  virtual int what() const { return 1; }
};

// A timer class of the program's own.
template <class Functor>
class OwnTimer : public rclcpp::WallTimer<Functor> {
 public:
  using rclcpp::WallTimer<Functor>::WallTimer;

 private:
  std::uint64_t own_ = 0;
};

template <class Node>
std::string name_of(Node &node) {
  return node.get_node_base_interface()->get_fully_qualified_name();
}

template <class Node>
void log_node(int id, Node &node) {
  log_making(id, "node",
             [&] { return Entity{0, "", name_of(node), "", 0, node.get_node_base_interface()->get_rcl_node_handle(), 0, 0, 0}; });
}

// Makes a timer by `make`, which returns it.
template <class Node, class Make>
rclcpp::TimerBase::SharedPtr make_timer(int id, Node &node, std::int64_t period, Make make) {
  rclcpp::TimerBase::SharedPtr timer;
  log_making(id, "timer", [&] {
    timer = make(std::chrono::nanoseconds(period));
    return Entity{0, "", name_of(node), "", period, timer->get_timer_handle().get(), 0, 0, 0};
  });
  return timer;
}

// A timer whose class rclcpp's functions do not make.
template <class Timer, class Node, class... Arguments>
rclcpp::TimerBase::SharedPtr add_timer(Node &node, rclcpp::CallbackGroup::SharedPtr group, Arguments &&...arguments) {
  rclcpp::TimerBase::SharedPtr timer =
      std::make_shared<Timer>(std::forward<Arguments>(arguments)..., node.get_node_base_interface()->get_context());
  node.get_node_timers_interface()->add_timer(timer, group);
  return timer;
}

template <class Node, class Make>
auto make_subscription(int id, const char *kind, Node &node, Make make) {
  decltype(make()) subscription;
  log_making(id, kind, [&] {
    subscription = make();
    return Entity{0, "", name_of(node), subscription->get_topic_name(), 0, subscription->get_subscription_handle().get(), 0, 0, 0};
  });
  return subscription;
}

// Takes a message, if there is one, without a callback.
template <class Message>
void poll(int id, rclcpp::Subscription<Message> &subscription) {
  Message message;
  rclcpp::MessageInfo info;
  Thread &thread = Log::instance().this_thread();
  const Frame in = thread.innermost();
  const std::uint64_t start = now();
  const bool taken = subscription.take(message, info);
  const std::uint64_t end = now();
  if (taken) thread.events.push_back({"take", id, number_in(message), start, end, "returned", in});
}

// A publisher of messages of which each has the next number.
template <class Message, class Content = Message>
class Publisher {
 public:
  template <class Node>
  void make(int id, Node &node, const std::string &topic, const rclcpp::QoS &qos, const rclcpp::PublisherOptions &options = {}) {
    id_ = id;
    log_making(id, "publisher", [&] {
      publisher_ = node.template create_publisher<Message>(topic, qos, options);
      return Entity{0, "", name_of(node), publisher_->get_topic_name(), 0, publisher_->get_publisher_handle().get(), 0, 0, 0};
    });
  }

  void by_reference() {
    Content message;
    publish(message, [&] { publisher_->publish(message); });
  }

  void by_unique_pointer() {
    auto message = std::make_unique<Content>();
    publish(*message, [&] { publisher_->publish(std::move(message)); });
  }

  void serialized() {
    Content message;
    rclcpp::SerializedMessage serialized;
    const std::uint64_t number = numbers_.next(id_);
    set_number(message, number);
    rclcpp::Serialization<Content>().serialize_message(&message, &serialized);
    log_doing("publish", id_, number, [&] { publisher_->publish(serialized); });
  }

  void loaned() {
    auto message = publisher_->borrow_loaned_message();
    publish(message.get(), [&] { publisher_->publish(std::move(message)); });
  }

  void end() {
    Log::instance().ended(id_);
    publisher_.reset();
  }

 private:
  template <class Do>
  void publish(Content &message, Do act) {
    const std::uint64_t number = numbers_.next(id_);
    set_number(message, number);
    log_doing("publish", id_, number, act);
  }

  int id_ = 0;
  Numbers numbers_;
  std::shared_ptr<rclcpp::Publisher<Message>> publisher_;
};

// A publisher that knows its type by name only.
template <class Message>
class GenericPublisher {
 public:
  template <class Node>
  void make(int id, Node &node, const std::string &topic, const std::string &type, const rclcpp::QoS &qos) {
    id_ = id;
    log_making(id, "publisher", [&] {
      publisher_ = node.create_generic_publisher(topic, type, qos);
      return Entity{0, "", name_of(node), publisher_->get_topic_name(), 0, publisher_->get_publisher_handle().get(), 0, 0, 0};
    });
  }

  void serialized() {
    Message message;
    rclcpp::SerializedMessage serialized;
    const std::uint64_t number = numbers_.next(id_);
    set_number(message, number);
    rclcpp::Serialization<Message>().serialize_message(&message, &serialized);
    log_doing("publish", id_, number, [&] { publisher_->publish(serialized); });
  }

  void end() {
    Log::instance().ended(id_);
    publisher_.reset();
  }

 private:
  int id_ = 0;
  Numbers numbers_;
  rclcpp::GenericPublisher::SharedPtr publisher_;
};

// A service, and the requests that it has not answered yet.
class Service {
 public:
  template <class Node, class Callback>
  void make(int id, const char *kind, Node &node, const std::string &name, Callback &&callback, rclcpp::CallbackGroup::SharedPtr group) {
    id_ = id;
    log_making(id, kind, [&] {
      service_ = node.template create_service<AddTwoInts>(name, std::forward<Callback>(callback), rmw_qos_profile_services_default, group);
      return Entity{0, "", name_of(node), service_->get_service_name(), 0, service_->get_service_handle().get(), 0, 0, 0};
    });
  }

  void defer(const Header &header, const Request &request) {
    std::lock_guard<std::mutex> lock(mutex_);
    deferred_.emplace_back(*header, request->a);
  }

  // Answers what was deferred.
  void respond() {
    std::vector<std::pair<rmw_request_id_t, std::int64_t>> deferred;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      deferred.swap(deferred_);
    }
    for (auto &[header, number] : deferred) {
      AddTwoInts::Response response;
      response.sum = number;
      log_doing("response", id_, static_cast<std::uint64_t>(number), [&, id = &header] { service_->send_response(*id, response); });
    }
  }

  void end() {
    Log::instance().ended(id_);
    service_.reset();
  }

 private:
  int id_ = 0;
  rclcpp::Service<AddTwoInts>::SharedPtr service_;
  std::mutex mutex_;
  std::vector<std::pair<rmw_request_id_t, std::int64_t>> deferred_;
};

// A client that calls only while there is a server: else the middleware throws the request away.
class Client {
 public:
  using Future = rclcpp::Client<AddTwoInts>::SharedFuture;

  template <class Node>
  void make(int id, Node &node, const std::string &name, rclcpp::CallbackGroup::SharedPtr group) {
    id_ = id;
    log_making(id, "client", [&] {
      client_ = node.template create_client<AddTwoInts>(name, rmw_qos_profile_services_default, group);
      return Entity{0, "", name_of(node), client_->get_service_name(), 0, client_->get_client_handle().get(), 0, 0, 0};
    });
  }

  // Calls, and lets the answer be.
  void call() {
    send([&](const Request &request) { client_->async_send_request(request); });
  }

  template <class Callback>
  void call(Callback callback) {
    send([&](const Request &request) { client_->async_send_request(request, std::move(callback)); });
  }

  void end() {
    Log::instance().ended(id_);
    client_.reset();
  }

 private:
  template <class Do>
  void send(Do act) {
    if (!client_->service_is_ready()) return;
    auto request = std::make_shared<AddTwoInts::Request>();
    const std::uint64_t number = numbers_.next(id_);
    request->a = static_cast<std::int64_t>(number);
    log_doing("request", id_, number, [&] { act(request); });
  }

  int id_ = 0;
  Numbers numbers_;
  rclcpp::Client<AddTwoInts>::SharedPtr client_;
};

inline std::uint64_t number_in(const Request &request) { return static_cast<std::uint64_t>(request->a); }
inline std::uint64_t number_in(const Client::Future &future) { return static_cast<std::uint64_t>(future.get()->sum); }

}  // namespace program
