// See testdata/README.md.
#include <libgen.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "control.hpp"
#include "demo.hpp"
#include "options.hpp"
#include "scenario.hpp"
#include "standin/ground_truth.hpp"

namespace {

constexpr auto kDrainTimeout = std::chrono::seconds(5);
constexpr auto kDrainPoll = std::chrono::milliseconds(10);
constexpr char kChildSuffix[] = ".child";

std::string rmw_name() {
  const char *const chosen = std::getenv("RMW_IMPLEMENTATION");
  return chosen != nullptr && *chosen != '\0' ? chosen : "rmw_fastrtps_cpp";
}

std::string bundled_component() {
  std::vector<char> path(4096);
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size() - 1);
  path[size < 0 ? 0 : static_cast<std::size_t>(size)] = '\0';
  return std::string(dirname(path.data())) + "/libstandin_component.so";
}

void become_child(Options &options) {
  options.fork = false;
  options.name += "_child";
  options.prefix += "_child";
  if (!options.ground_truth.empty()) options.ground_truth += kChildSuffix;
}

// The same program and options with fork and exec.
pid_t spawn_child(const Options &options, int count, char **arguments) {
  std::vector<std::string> texts(arguments, arguments + count);
  for (const char *const addition : {"--spawn-after", "0"}) texts.emplace_back(addition);
  Options child = options;
  become_child(child);
  for (const std::string &addition :
       {std::string("--name"), child.name, std::string("--prefix"), child.prefix}) {
    texts.push_back(addition);
  }
  if (!child.ground_truth.empty()) {
    texts.emplace_back("--ground-truth");
    texts.push_back(child.ground_truth);
  }
  std::vector<char *> pointers;
  for (std::string &text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, pointers.data(), environ);
  if (error != 0) std::fprintf(stderr, "ros_node: spawn: %s\n", std::strerror(error));
  return pid;
}

// Ends the child like this process and takes over its failure.
int finish_child(pid_t child, int status) {
  if (child <= 0) return status;
  kill(child, SIGTERM);
  int child_status = 0;
  waitpid(child, &child_status, 0);
  const bool succeeded = WIFEXITED(child_status) && WEXITSTATUS(child_status) == EXIT_SUCCESS;
  return status == EXIT_SUCCESS && !succeeded ? EXIT_FAILURE : status;
}

void say_ready() {
  std::printf("ready\n");
  std::fflush(stdout);
}

int run_demo(const Options &options, Control &control) {
  const auto context = std::make_shared<rclcpp::Context>();
  context->init(options.domain);
  rclcpp::executors::SingleThreadedExecutor executor;
  const std::shared_ptr<rclcpp::Node> node = make_demo_node(options, context);
  executor.add_node(node);
  control.stop_at(options.duration);
  say_ready();
  control.ready();
  executor.spin();
  ground_truth::close();
  return EXIT_SUCCESS;
}

int run_scenario(const Options &options, Control &control, pid_t &child, int count,
                 char **arguments) {
  Scenario scenario(options);
  if (!scenario.wait_for_matches(0)) return EXIT_SUCCESS;

  const std::string component =
      options.component == "default" ? bundled_component() : options.component;
  if (!component.empty()) {
    const auto load = [&scenario, component] { scenario.load_component(component); };
    if (options.load_after != 0) {
      control.at(options.load_after, load);
    } else {
      control.on_user_signal(load);
    }
  }
  if (options.spawn_after != 0) {
    control.at(options.spawn_after, [&] { child = spawn_child(options, count, arguments); });
  }
  control.stop_at(options.duration);
  control.on_stop([&] {
    scenario.stop_publishing();
    if (!options.expect_all) return;
    const auto deadline = std::chrono::steady_clock::now() + kDrainTimeout;
    while (!scenario.all_received() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kDrainPoll);
    }
  });
  say_ready();
  control.ready();
  if (scenario.wait_for_matches(options.wait_subscribers)) scenario.run();
  ground_truth::close();
  return scenario.verify() ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run(Options &options, int count, char **arguments) {
  Control control;
  control.sleep(options.start_delay);
  pid_t child = -1;
  if (options.fork) {
    child = ::fork();
    if (child == 0) {
      become_child(options);
      child = -1;
    }
  }
  if (!options.ground_truth.empty()) {
    ground_truth::open(options.ground_truth, rmw_name(), options.ground_truth_sync);
  }
  control.sleep(options.rmw_after);
  int status = EXIT_SUCCESS;
  if (rclcpp::ok()) {
    status = options.demo != Demo::none ? run_demo(options, control)
                                        : run_scenario(options, control, child, count, arguments);
  }
  return finish_child(child, status);
}

}  // namespace

int main(int count, char **arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  Options options = parse_options(count, arguments);
  try {
    return run(options, count, arguments);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "ros_node: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
