#include "rcl/impl.h"
#include "standin/evicted.hpp"
#include "tracetools/tracetools.h"

rcl_ret_t rcl_node_init(rcl_node_t *node, const char *name, const char *name_space,
                        rcl_context_t *context) {
  const std::string prefix(name_space);
  const std::string full_name = (prefix == "/" ? prefix : prefix + "/") + name;
  std::string logger_name = full_name.substr(1);
  for (char &character : logger_name) {
    if (character == '/') character = '.';
  }
  rmw_node_t *const rmw_node = rmw_create_node(&context->impl->rmw_context, name, name_space);
  if (rmw_node == nullptr) return RCL_RET_ERROR;
  node->context = context;
  node->impl = new rcl_node_impl_s{};
  node->impl->rmw_node_handle = rmw_node;
  node->impl->logger_name = copy_string(logger_name);
  node->impl->fq_name = copy_string(full_name);
  ros_trace_rcl_node_init(node, rmw_node, evicted::String(name).get(),
                          evicted::String(name_space).get());
  return RCL_RET_OK;
}

rcl_ret_t rcl_node_fini(rcl_node_t *node) {
  const rcl_ret_t result = rmw_destroy_node(node->impl->rmw_node_handle);
  delete[] node->impl->logger_name;
  delete[] node->impl->fq_name;
  delete node->impl;
  node->impl = nullptr;
  return result;
}

bool rcl_node_is_valid_except_context(const rcl_node_t *node) {
  return node != nullptr && node->impl != nullptr;
}

rmw_node_t *rcl_node_get_rmw_handle(const rcl_node_t *node) {
  return rcl_node_is_valid_except_context(node) ? node->impl->rmw_node_handle : nullptr;
}

const char *rcl_node_get_logger_name(const rcl_node_t *node) {
  return rcl_node_is_valid_except_context(node) ? node->impl->logger_name : nullptr;
}

const char *rcl_node_get_fully_qualified_name(const rcl_node_t *node) {
  return rcl_node_is_valid_except_context(node) ? node->impl->fq_name : nullptr;
}
