// Services and clients: plain calls, responses that come later from another thread, responses that
// nobody takes, and takes that find nothing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "behaviour.hpp"
#include "example_interfaces/srv/add_two_ints.hpp"
#include "options.hpp"
#include "sample_node.hpp"

class ServiceCalls {
 public:
  // Creates what the options ask for, on the node.
  ServiceCalls(SampleNode &node, const Options &options, Behaviour &behaviour);
  ~ServiceCalls();
  ServiceCalls(const ServiceCalls &) = delete;
  ServiceCalls &operator=(const ServiceCalls &) = delete;

  // Nothing is answered later any more: to be called before the ground truth is closed.
  void stop_answering();

  // Every response so far was right.
  bool correct() const { return !wrong_sum_; }

 private:
  using AddTwoInts = example_interfaces::srv::AddTwoInts;
  using Client = rclcpp::Client<AddTwoInts>;
  using Service = rclcpp::Service<AddTwoInts>;
  using Request = std::shared_ptr<AddTwoInts::Request>;
  using Header = std::shared_ptr<rmw_request_id_t>;

  void add_plain_calls();
  void add_deferred_calls();
  void add_untaken_responses();
  void add_empty_takes();

  Service &serve(const std::string &name);
  Client &call(const std::string &name, std::shared_ptr<rclcpp::CallbackGroup> group);
  void request_sum(Client &client);
  void answer_deferred(Service &service);

  SampleNode &node_;
  const Options &options_;
  Behaviour &behaviour_;
  std::vector<std::shared_ptr<Service>> services_;
  std::vector<std::shared_ptr<Client>> clients_;
  std::atomic<std::int64_t> requests_{0};
  std::atomic<bool> wrong_sum_{false};

  std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<std::pair<Header, Request>> deferred_;
  bool stopping_ = false;
  std::thread answering_;
};
