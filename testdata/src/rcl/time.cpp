#include <atomic>
#include <chrono>

#include "rcl/rcl.h"

namespace {

struct rcl_ros_clock_storage_t {
  std::atomic<std::int64_t> current_time{0};
  bool active = false;
};

rcl_ros_clock_storage_t &storage_of(void *data) {
  return *static_cast<rcl_ros_clock_storage_t *>(data);
}

rcl_ret_t get_ros_time(void *data, std::int64_t *time) {
  const auto system = std::chrono::system_clock::now().time_since_epoch();
  *time = storage_of(data).active
              ? storage_of(data).current_time.load()
              : std::chrono::duration_cast<std::chrono::nanoseconds>(system).count();
  return RCL_RET_OK;
}

}  // namespace

rcl_ret_t rcl_ros_clock_init(rcl_clock_t *clock) {
  *clock = {};
  clock->type = RCL_ROS_TIME;
  clock->get_now = get_ros_time;
  clock->data = new rcl_ros_clock_storage_t;
  return RCL_RET_OK;
}

rcl_ret_t rcl_ros_clock_fini(rcl_clock_t *clock) {
  delete &storage_of(clock->data);
  *clock = {};
  return RCL_RET_OK;
}

rcl_ret_t rcl_enable_ros_time_override(rcl_clock_t *clock) {
  if (clock->type != RCL_ROS_TIME) return RCL_RET_ERROR;
  storage_of(clock->data).active = true;
  return RCL_RET_OK;
}

rcl_ret_t rcl_set_ros_time_override(rcl_clock_t *clock, std::int64_t time) {
  if (clock->type != RCL_ROS_TIME) return RCL_RET_ERROR;
  storage_of(clock->data).current_time = time;
  return RCL_RET_OK;
}

rcl_ret_t rcl_clock_get_now(rcl_clock_t *clock, std::int64_t *time) {
  return clock->get_now(clock->data, time);
}
