#include "rclcpp/service.hpp"

#include <stdexcept>

#include "handles.hpp"
#include "rclcpp/qos.hpp"
#include "standin/lifetime_truth.hpp"

namespace rclcpp {
namespace {

constexpr std::size_t kServiceDepth = 10;

template <typename Handle, typename Init, typename Fini>
std::shared_ptr<Handle> make_handle(const char *kind, std::shared_ptr<rcl_node_t> node,
                                    const std::string &name, Init init, Fini fini) {
  auto handle = Handles<Handle>::take();
  const QoS qos(kServiceDepth);
  const rcl_ret_t result = ground_truth::initialize(kind, handle.get(), node.get(), [&] {
    return init(handle.get(), node.get(), name.c_str(), &qos.get_rmw_qos_profile());
  });
  if (result != RCL_RET_OK) {
    throw std::runtime_error("failed to create " + name);
  }
  return std::shared_ptr<Handle>(handle.release(), [kind, node, fini](Handle *owned) {
    ground_truth::finalize(kind, owned, [&] { fini(owned, node.get()); });
    Handles<Handle>::give_back(owned);
  });
}

}  // namespace

ServiceBase::ServiceBase(node_interfaces::NodeBaseInterface *node_base, const std::string &name)
    : node_handle_(node_base->get_shared_rcl_node_handle()),
      service_handle_(make_handle<rcl_service_t>("service", node_handle_, name, rcl_service_init,
                                                 rcl_service_fini)),
      node_logger_(rcl_node_get_logger_name(node_handle_.get())) {
  rmw_service_set_on_new_request_callback(rcl_service_get_rmw_handle(service_handle_.get()),
                                          detail::on_new_work, nullptr);
}

ServiceBase::~ServiceBase() = default;

std::shared_ptr<rcl_service_t> ServiceBase::get_service_handle() { return service_handle_; }

bool ServiceBase::has_request() const {
  return standin_has_request(rcl_service_get_rmw_handle(service_handle_.get()));
}

bool ServiceBase::take_type_erased_request(void *request_out, rmw_request_id_t &request_id_out) {
  const ground_truth::ServiceStep step(ground_truth::ServiceStepKind::take_request,
                                       service_handle_.get(), request_out);
  return rcl_take_request(service_handle_.get(), &request_id_out, request_out) == RCL_RET_OK;
}

ClientBase::ClientBase(node_interfaces::NodeBaseInterface *node_base, const std::string &name)
    : node_handle_(node_base->get_shared_rcl_node_handle()),
      context_(node_base->get_context()),
      node_logger_(rcl_node_get_logger_name(node_handle_.get())),
      client_handle_(make_handle<rcl_client_t>("client", node_handle_, name, rcl_client_init,
                                               rcl_client_fini)) {
  rmw_client_set_on_new_response_callback(rcl_client_get_rmw_handle(client_handle_.get()),
                                          detail::on_new_work, nullptr);
}

ClientBase::~ClientBase() = default;

std::shared_ptr<rcl_client_t> ClientBase::get_client_handle() { return client_handle_; }

bool ClientBase::has_response() const {
  return standin_has_response(rcl_client_get_rmw_handle(client_handle_.get()));
}

bool ClientBase::take_type_erased_response(void *response_out,
                                           rmw_request_id_t &request_header_out) {
  const ground_truth::ServiceStep step(ground_truth::ServiceStepKind::take_response,
                                       client_handle_.get(), response_out);
  return rcl_take_response(client_handle_.get(), &request_header_out, response_out) == RCL_RET_OK;
}

}  // namespace rclcpp
