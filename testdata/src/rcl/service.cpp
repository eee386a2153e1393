#include "rcl/impl.h"
#include "standin/evicted.hpp"
#include "tracetools/tracetools.h"

rcl_ret_t rcl_service_init(rcl_service_t *service, const rcl_node_t *node, const char *name,
                           const rmw_qos_profile_t *qos) {
  rmw_service_t *const rmw_service = rmw_create_service(rcl_node_get_rmw_handle(node), name);
  if (rmw_service == nullptr) return RCL_RET_ERROR;
  service->impl = new rcl_service_impl_s{};
  service->impl->options.qos = *qos;
  service->impl->actual_request_subscription_qos = *qos;
  service->impl->actual_response_publisher_qos = *qos;
  service->impl->rmw_handle = rmw_service;
#ifdef STANDIN_JAZZY
  service->impl->remapped_service_name = copy_string(name);
#endif
  ros_trace_rcl_service_init(service, node, rmw_service, evicted::String(name).get());
  return RCL_RET_OK;
}

rcl_ret_t rcl_service_fini(rcl_service_t *service, rcl_node_t *node) {
  const rcl_ret_t result =
      rmw_destroy_service(rcl_node_get_rmw_handle(node), service->impl->rmw_handle);
#ifdef STANDIN_JAZZY
  delete[] service->impl->remapped_service_name;
#endif
  delete service->impl;
  service->impl = nullptr;
  return result;
}

rmw_service_t *rcl_service_get_rmw_handle(const rcl_service_t *service) {
  return service != nullptr && service->impl != nullptr ? service->impl->rmw_handle : nullptr;
}

rcl_ret_t rcl_take_request_with_info(const rcl_service_t *service, rmw_service_info_t *info,
                                     void *request) {
  bool taken = false;
  const rcl_ret_t result = rmw_take_request(service->impl->rmw_handle, info, request, &taken);
  if (result != RMW_RET_OK) return result;
  return taken ? RCL_RET_OK : RCL_RET_SERVICE_TAKE_FAILED;
}

rcl_ret_t rcl_take_request(const rcl_service_t *service, rmw_request_id_t *header, void *request) {
  rmw_service_info_t info;
  info.request_id = *header;
  const rcl_ret_t result = rcl_take_request_with_info(service, &info, request);
  *header = info.request_id;
  return result;
}

rcl_ret_t rcl_send_response(const rcl_service_t *service, rmw_request_id_t *header,
                            void *response) {
  return rmw_send_response(service->impl->rmw_handle, header, response);
}
