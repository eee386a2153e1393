// pipeline [well]: ten nodes of a made-up vehicle. An image goes from /camera through six nodes to
// /actuator, twenty times a second. /map_server has a timer in the executor of /planner: once a
// second it computes for 80 ms, and an image that comes meanwhile is late. If all is to be well, it
// does not. docs/tutorial.md finds out why. It is built against the stand-ins and against ROS 2.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../any_ros.hpp"
#include "std_msgs/msg/string.hpp"

namespace {

using std::chrono::milliseconds;
using std_msgs::msg::String;
using Message = std::shared_ptr<const String>;
using Publisher = rclcpp::Publisher<String>;

constexpr milliseconds kImagePeriod{50};
constexpr milliseconds kMapPeriod{1000};
constexpr milliseconds kMapTime{80};
constexpr milliseconds kStepTime{1};

// Takes time of the thread's, whatever else happens.
void compute(milliseconds time) {
  const auto now = [] {
    timespec read{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &read);
    return std::chrono::seconds(read.tv_sec) + std::chrono::nanoseconds(read.tv_nsec);
  };
  const auto until = now() + time;
  while (now() < until) {
  }
}

// What lives as long as the program.
struct System {
  std::vector<std::shared_ptr<rclcpp::Node>> nodes;
  std::vector<std::shared_ptr<void>> entities;

  std::shared_ptr<rclcpp::Node> make_node(const char *name) {
    nodes.push_back(any_ros::make_node(name));
    return nodes.back();
  }

  // A node that makes a message of each that it gets.
  std::shared_ptr<rclcpp::Node> make_step(const char *name, const char *from, const char *to) {
    const std::shared_ptr<rclcpp::Node> node = make_node(name);
    const std::shared_ptr<Publisher> publisher =
        node->create_publisher<String>(to, rclcpp::QoS(10));
    entities.push_back(
        node->create_subscription<String>(from, rclcpp::QoS(10), [publisher](Message message) {
          compute(kStepTime);
          publisher->publish(*message);
        }));
    return node;
  }

  // A node that only gets messages.
  std::shared_ptr<rclcpp::Node> make_end(const char *name, const char *from) {
    const std::shared_ptr<rclcpp::Node> node = make_node(name);
    entities.push_back(node->create_subscription<String>(from, rclcpp::QoS(10),
                                                         [](Message) { compute(kStepTime); }));
    return node;
  }
};

// Executes nodes on a thread of their own.
std::thread execute(std::vector<std::shared_ptr<rclcpp::Node>> nodes) {
  return std::thread([nodes] {
    rclcpp::executors::SingleThreadedExecutor executor;
    for (const auto &node : nodes) executor.add_node(node);
    executor.spin();
  });
}

}  // namespace

int main(int count, char **arguments) {
  const bool well = count > 1 && std::strcmp(arguments[1], "well") == 0;
  any_ros::initialize(count, arguments);
  System system;

  const std::shared_ptr<rclcpp::Node> camera = system.make_node("camera");
  const std::shared_ptr<Publisher> images =
      camera->create_publisher<String>("/image", rclcpp::QoS(10));
  String image;
  image.data = "image";
  system.entities.push_back(
      camera->create_wall_timer(kImagePeriod, [images, image] { images->publish(image); }));

  const std::shared_ptr<rclcpp::Node> map_server = system.make_node("map_server");
  system.entities.push_back(map_server->create_wall_timer(kMapPeriod, [well] {
    if (!well) compute(kMapTime);
  }));

  std::vector<std::thread> threads;
  threads.push_back(execute({camera}));
  threads.push_back(execute({system.make_step("rectifier", "/image", "/rectified")}));
  threads.push_back(execute({system.make_step("detector", "/rectified", "/objects")}));
  threads.push_back(execute({system.make_step("tracker", "/objects", "/tracks")}));
  threads.push_back(execute({system.make_step("fusion", "/tracks", "/scene")}));
  threads.push_back(execute({system.make_step("planner", "/scene", "/trajectory"), map_server}));
  threads.push_back(execute({system.make_step("controller", "/trajectory", "/command")}));
  threads.push_back(execute({system.make_end("actuator", "/command")}));
  threads.push_back(execute({system.make_end("monitor", "/command")}));
  std::puts("ready");
  std::fflush(stdout);
  for (std::thread &thread : threads) thread.join();
  return 0;
}
