#include "rcl/impl.h"
#include "standin/evicted.hpp"
#include "tracetools/tracetools.h"

rcl_ret_t rcl_client_init(rcl_client_t *client, const rcl_node_t *node, const char *name,
                          const rmw_qos_profile_t *qos) {
  rmw_client_t *const rmw_client = rmw_create_client(rcl_node_get_rmw_handle(node), name);
  if (rmw_client == nullptr) return RCL_RET_ERROR;
  client->impl = new rcl_client_impl_s{};
  client->impl->options.qos = *qos;
  client->impl->actual_request_publisher_qos = *qos;
  client->impl->actual_response_subscription_qos = *qos;
  client->impl->rmw_handle = rmw_client;
#ifdef STANDIN_JAZZY
  client->impl->remapped_service_name = copy_string(name);
#endif
  ros_trace_rcl_client_init(client, node, rmw_client, evicted::String(name).get());
  return RCL_RET_OK;
}

rcl_ret_t rcl_client_fini(rcl_client_t *client, rcl_node_t *node) {
  const rcl_ret_t result =
      rmw_destroy_client(rcl_node_get_rmw_handle(node), client->impl->rmw_handle);
#ifdef STANDIN_JAZZY
  delete[] client->impl->remapped_service_name;
#endif
  delete client->impl;
  client->impl = nullptr;
  return result;
}

rmw_client_t *rcl_client_get_rmw_handle(const rcl_client_t *client) {
  return client != nullptr && client->impl != nullptr ? client->impl->rmw_handle : nullptr;
}

rcl_ret_t rcl_send_request(const rcl_client_t *client, const void *request,
                           std::int64_t *sequence) {
  *sequence = client->impl->sequence_number.load();
  const rcl_ret_t result = rmw_send_request(client->impl->rmw_handle, request, sequence);
  if (result == RMW_RET_OK) client->impl->sequence_number.store(*sequence);
  return result;
}

rcl_ret_t rcl_take_response_with_info(const rcl_client_t *client, rmw_service_info_t *info,
                                      void *response) {
  bool taken = false;
  info->source_timestamp = 0;
  info->received_timestamp = 0;
  const rcl_ret_t result = rmw_take_response(client->impl->rmw_handle, info, response, &taken);
  if (result != RMW_RET_OK) return result;
  return taken ? RCL_RET_OK : RCL_RET_CLIENT_TAKE_FAILED;
}

rcl_ret_t rcl_take_response(const rcl_client_t *client, rmw_request_id_t *header, void *response) {
  rmw_service_info_t info;
  info.request_id = *header;
  const rcl_ret_t result = rcl_take_response_with_info(client, &info, response);
  *header = info.request_id;
  return result;
}
