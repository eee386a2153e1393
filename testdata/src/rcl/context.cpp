#include "rcl/impl.h"
#include "tracetools/tracetools.h"

rcl_ret_t rcl_init(std::size_t domain_id, rcl_context_t *context) {
  context->impl = new rcl_context_impl_s{};
  context->instance_id_storage = 1;
  rmw_context_t &rmw_context = context->impl->rmw_context;
  rmw_context.instance_id = context->instance_id_storage;
  rmw_context.implementation_identifier = rmw_get_implementation_identifier();
  rmw_context.options.instance_id = context->instance_id_storage;
  rmw_context.options.implementation_identifier = rmw_context.implementation_identifier;
  rmw_context.options.domain_id = domain_id;
  rmw_context.actual_domain_id = domain_id;
  const rcl_ret_t result = rmw_init(&rmw_context.options, &rmw_context);
  if (result != RCL_RET_OK) return result;
  ros_trace_rcl_init(context);
  return RCL_RET_OK;
}

rcl_ret_t rcl_shutdown(rcl_context_t *context) {
  const rcl_ret_t result = rmw_shutdown(&context->impl->rmw_context);
  delete context->impl;
  context->impl = nullptr;
  return result;
}
