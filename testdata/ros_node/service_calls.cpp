#include "service_calls.hpp"

#include <chrono>

using rclcpp::CallbackGroupType;

namespace {

constexpr char kPlain[] = "/standin/add_two_ints";
constexpr char kDeferred[] = "/standin/add_two_ints_later";
constexpr char kUntaken[] = "/standin/add_two_ints_in_vain";
constexpr char kIdle[] = "/standin/add_two_ints_never";
// How long a deferred response takes.
constexpr auto kDelay = std::chrono::milliseconds(2);

}  // namespace

ServiceCalls::ServiceCalls(SampleNode &node, const Options &options, Behaviour &behaviour)
    : node_(node), options_(options), behaviour_(behaviour) {
  if (options.service_rate != 0) add_plain_calls();
  if (options.deferred_service_rate != 0) add_deferred_calls();
  if (options.untaken_response_rate != 0) add_untaken_responses();
  if (options.empty_take_rate != 0) add_empty_takes();
}

ServiceCalls::~ServiceCalls() { stop_answering(); }

void ServiceCalls::stop_answering() {
  if (!answering_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  condition_.notify_all();
  answering_.join();
}

ServiceCalls::Service &ServiceCalls::serve(const std::string &name) {
  return *services_.emplace_back(node_.create_service<AddTwoInts>(
      name,
      [this](Request request, std::shared_ptr<AddTwoInts::Response> response) {
        response->sum = request->a + request->b;
        behaviour_.inside_callback();
      },
      node_.group_for_entity()));
}

ServiceCalls::Client &ServiceCalls::call(const std::string &name,
                                         std::shared_ptr<rclcpp::CallbackGroup> group) {
  return *clients_.emplace_back(node_.create_client<AddTwoInts>(name, std::move(group)));
}

void ServiceCalls::request_sum(Client &client) {
  const std::int64_t number = ++requests_;
  client.async_send_request({number, 2 * number}, [this](const AddTwoInts::Request &request,
                                                         const AddTwoInts::Response &response) {
    if (response.sum != request.a + request.b) wrong_sum_ = true;
  });
}

void ServiceCalls::add_plain_calls() {
  serve(kPlain);
  std::vector<Client *> clients;
  for (unsigned i = 0; i < options_.service_clients; ++i) {
    clients.push_back(&call(kPlain, node_.group_for_entity()));
  }
  node_.run_periodically(
      options_.service_rate,
      [this, clients] {
        for (Client *const client : clients) request_sum(*client);
      },
      node_.group_for_entity());
}

void ServiceCalls::add_deferred_calls() {
  Service &service = *services_.emplace_back(node_.create_service<AddTwoInts>(
      kDeferred,
      [this](Header header, Request request) {
        {
          const std::lock_guard lock(mutex_);
          deferred_.emplace_back(std::move(header), std::move(request));
        }
        condition_.notify_all();
      },
      node_.group_for_entity()));
  Client &client = call(kDeferred, node_.group_for_entity());
  node_.run_periodically(
      options_.deferred_service_rate, [this, &client] { request_sum(client); },
      node_.group_for_entity());
  answering_ = std::thread([this, &service] { answer_deferred(service); });
}

void ServiceCalls::answer_deferred(Service &service) {
  std::unique_lock lock(mutex_);
  while (true) {
    condition_.wait(lock, [this] { return stopping_ || !deferred_.empty(); });
    if (stopping_) return;
    const auto [header, request] = std::move(deferred_.front());
    deferred_.pop_front();
    lock.unlock();
    std::this_thread::sleep_for(kDelay);
    AddTwoInts::Response response{request->a + request->b};
    service.send_response(*header, response);
    lock.lock();
  }
}

// The client's group is in no executor.
void ServiceCalls::add_untaken_responses() {
  serve(kUntaken);
  Client &client = call(kUntaken, node_.group_without_executor(CallbackGroupType::Reentrant));
  node_.run_periodically(
      options_.untaken_response_rate, [this, &client] { request_sum(client); },
      node_.group_for_entity());
}

// As when several threads of an executor find the same entity ready and one of them comes too late.
void ServiceCalls::add_empty_takes() {
  Service &service = serve(kIdle);
  Client &client = call(kIdle, node_.group_for_entity());
  node_.run_periodically(
      options_.empty_take_rate,
      [this, &service, &client] {
        rmw_request_id_t header{};
        AddTwoInts::Request request;
        AddTwoInts::Response response;
        if (service.take_type_erased_request(&request, header)) wrong_sum_ = true;
        if (client.take_type_erased_response(&response, header)) wrong_sum_ = true;
      },
      node_.group_for_entity());
}
