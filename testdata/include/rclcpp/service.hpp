#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <variant>

#include "rclcpp/logger.hpp"
#include "rclcpp/node_interfaces.hpp"
#include "rclcpp/run_callback.hpp"
#include "standin/service_truth.hpp"

namespace rclcpp {

// A user's function in one of three forms.
template <typename ServiceT>
class AnyServiceCallback {
 public:
  using Request = typename ServiceT::Request;
  using Response = typename ServiceT::Response;
  using Header = std::shared_ptr<rmw_request_id_t>;
  using Plain = std::function<void(std::shared_ptr<Request>, std::shared_ptr<Response>)>;
  using WithHeader =
      std::function<void(Header, std::shared_ptr<Request>, std::shared_ptr<Response>)>;
  // Sends the response itself, at any time.
  using Deferring = std::function<void(Header, std::shared_ptr<Request>)>;

  template <typename CallbackT>
  explicit AnyServiceCallback(CallbackT callback) {
    if constexpr (std::is_invocable_v<CallbackT, Header, std::shared_ptr<Request>,
                                      std::shared_ptr<Response>>) {
      callback_ = WithHeader(std::move(callback));
    } else if constexpr (std::is_invocable_v<CallbackT, Header, std::shared_ptr<Request>>) {
      callback_ = Deferring(std::move(callback));
    } else {
      callback_ = Plain(std::move(callback));
    }
  }

  // Null if the response is deferred; the callback then has no end tracepoint.
  std::shared_ptr<Response> dispatch(const Header &header, std::shared_ptr<Request> request) {
    ground_truth::CallbackScope scope(this, ground_truth::CallbackKind::service);
    scope.serves(identity_of(*header));
    scope.started(ground_truth::bracket([&] { ros_trace_callback_start(this, false); }));
    if (const auto *const deferring = std::get_if<Deferring>(&callback_)) {
      (*deferring)(header, std::move(request));
      scope.deferred();
      return nullptr;
    }
    auto response = std::make_shared<Response>();
    if (const auto *const plain = std::get_if<Plain>(&callback_)) {
      (*plain)(std::move(request), response);
    } else {
      std::get<WithHeader>(callback_)(header, std::move(request), response);
    }
    scope.ended(ground_truth::bracket([&] { ros_trace_callback_end(this); }));
    return response;
  }

  void register_callback_for_tracing() const {
    std::visit(
        [this](const auto &function) {
          if constexpr (!std::is_same_v<decltype(function), const std::monostate &>) {
            detail::register_callback(this, function);
          }
        },
        callback_);
  }

 private:
  static ground_truth::RequestIdentity identity_of(const rmw_request_id_t &header) {
    ground_truth::RequestIdentity identity;
    std::memcpy(identity.client_gid.data(), header.writer_guid, identity.client_gid.size());
    identity.sequence_number = header.sequence_number;
    return identity;
  }

  std::variant<std::monostate, Plain, WithHeader, Deferring> callback_;
};

class ServiceBase {
 public:
  ServiceBase(node_interfaces::NodeBaseInterface *node_base, const std::string &name);
  virtual ~ServiceBase();

  std::shared_ptr<rcl_service_t> get_service_handle();
  bool has_request() const;
  bool take_type_erased_request(void *request_out, rmw_request_id_t &request_id_out);
  virtual std::shared_ptr<void> create_request() = 0;
  virtual void handle_request(std::shared_ptr<rmw_request_id_t> header,
                              std::shared_ptr<void> request) = 0;

 protected:
  friend struct ::LayoutCheck;

  std::shared_ptr<rcl_node_t> node_handle_;
#ifdef STANDIN_HUMBLE
  std::shared_ptr<rcl_service_t> service_handle_;
  bool owns_rcl_handle_ = true;
  Logger node_logger_;
  std::atomic<bool> in_use_by_wait_set_{false};
  std::recursive_mutex callback_mutex_;
  std::function<void(std::size_t)> on_new_request_callback_;
#else
  std::recursive_mutex callback_mutex_;
  std::function<void(std::size_t)> on_new_request_callback_;
  std::shared_ptr<rcl_service_t> service_handle_;
  bool owns_rcl_handle_ = true;
  Logger node_logger_;
  std::atomic<bool> in_use_by_wait_set_{false};
#endif
};

template <typename ServiceT>
class Service : public ServiceBase, public std::enable_shared_from_this<Service<ServiceT>> {
 public:
  Service(node_interfaces::NodeBaseInterface *node_base, const std::string &name,
          AnyServiceCallback<ServiceT> callback)
      : ServiceBase(node_base, name), any_callback_(std::move(callback)) {
    ros_trace_rclcpp_service_callback_added(get_service_handle().get(), &any_callback_);
    any_callback_.register_callback_for_tracing();
  }

  std::shared_ptr<void> create_request() override {
    return std::make_shared<typename ServiceT::Request>();
  }

  void handle_request(std::shared_ptr<rmw_request_id_t> header,
                      std::shared_ptr<void> request) override {
    const auto response = any_callback_.dispatch(
        header, std::static_pointer_cast<typename ServiceT::Request>(request));
    if (response != nullptr) send_response(*header, *response);
  }

  void send_response(rmw_request_id_t &header, typename ServiceT::Response &response) {
    rcl_service_t *const handle = get_service_handle().get();
    const ground_truth::ServiceStep step(ground_truth::ServiceStepKind::send_response, handle,
                                         &response);
    rcl_send_response(handle, &header, &response);
  }

  const void *callback_address() const { return &any_callback_; }

 private:
  friend struct ::LayoutCheck;

  AnyServiceCallback<ServiceT> any_callback_;
#ifdef STANDIN_JAZZY
  const void *srv_type_support_handle_ = nullptr;
#endif
};

class ClientBase {
 public:
  ClientBase(node_interfaces::NodeBaseInterface *node_base, const std::string &name);
  virtual ~ClientBase();

  std::shared_ptr<rcl_client_t> get_client_handle();
  bool has_response() const;
  bool take_type_erased_response(void *response_out, rmw_request_id_t &request_header_out);
  virtual std::shared_ptr<void> create_response() = 0;
  virtual void handle_response(std::shared_ptr<rmw_request_id_t> header,
                               std::shared_ptr<void> response) = 0;

 protected:
  friend struct ::LayoutCheck;

  std::shared_ptr<void> node_graph_;
  std::shared_ptr<rcl_node_t> node_handle_;
  std::shared_ptr<Context> context_;
  Logger node_logger_;
#ifdef STANDIN_HUMBLE
  std::shared_ptr<rcl_client_t> client_handle_;
  std::atomic<bool> in_use_by_wait_set_{false};
  std::recursive_mutex callback_mutex_;
  std::function<void(std::size_t)> on_new_response_callback_;
#else
  std::recursive_mutex callback_mutex_;
  std::function<void(std::size_t)> on_new_response_callback_;
  std::shared_ptr<rcl_client_t> client_handle_;
  std::atomic<bool> in_use_by_wait_set_{false};
#endif
};

// Responses go to a function, which has no tracepoints around it in any distribution.
template <typename ServiceT>
class Client : public ClientBase {
 public:
  using Request = typename ServiceT::Request;
  using Response = typename ServiceT::Response;
  using Function = std::function<void(const Request &, const Response &)>;

  using ClientBase::ClientBase;

  void async_send_request(const Request &request, Function on_response) {
    const std::lock_guard lock(pending_requests_mutex_);
    std::int64_t sequence = 0;
    {
      rcl_client_t *const handle = get_client_handle().get();
      const ground_truth::ServiceStep step(ground_truth::ServiceStepKind::send_request, handle,
                                           &request);
      rcl_send_request(handle, &request, &sequence);
    }
    pending_requests_.emplace(sequence, Pending{request, std::move(on_response)});
  }

  std::shared_ptr<void> create_response() override { return std::make_shared<Response>(); }

  void handle_response(std::shared_ptr<rmw_request_id_t> header,
                       std::shared_ptr<void> response) override {
    std::unique_lock lock(pending_requests_mutex_);
    auto entry = pending_requests_.extract(header->sequence_number);
    lock.unlock();
    if (entry.empty()) return;
    const Pending &pending = entry.mapped();
    pending.on_response(pending.request, *static_cast<Response *>(response.get()));
  }

 private:
  friend struct ::LayoutCheck;

  struct Pending {
    Request request;
    Function on_response;
  };
  std::unordered_map<std::int64_t, Pending> pending_requests_;
  std::mutex pending_requests_mutex_;
#ifdef STANDIN_JAZZY
  const void *srv_type_support_handle_ = nullptr;
#endif
};

}  // namespace rclcpp
