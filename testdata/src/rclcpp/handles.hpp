// rcl's handles. Any allocator may use an address again; this one does it as soon as possible, so
// that tests meet it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace rclcpp {

template <typename Handle>
class Handles {
 public:
  struct Return {
    void operator()(Handle *handle) const { give_back(handle); }
  };
  using Owned = std::unique_ptr<Handle, Return>;

  static Owned take() {
    Free &free = free_handles();
    const std::lock_guard lock(free.mutex);
    if (free.handles.empty()) return Owned(new Handle{});
    Handle *const handle = free.handles.back();
    free.handles.pop_back();
    *handle = {};
    return Owned(handle);
  }

  static void give_back(Handle *handle) {
    Free &free = free_handles();
    const std::lock_guard lock(free.mutex);
    free.handles.push_back(handle);
  }

 private:
  struct Free {
    std::mutex mutex;
    std::vector<Handle *> handles;
  };
  // Never destroyed: handles may still come back after main.
  static Free &free_handles() {
    static Free *const instance = new Free;
    return *instance;
  }
};

}  // namespace rclcpp
