// See testdata/README.md.
#include <libgen.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <string>
#include <vector>

#include "ballast.hpp"
#include "control.hpp"
#include "demo.hpp"
#include "options.hpp"
#include "scenario.hpp"
#include "standin/ground_truth.hpp"

namespace {

constexpr auto kDrainTimeout = std::chrono::seconds(60);
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

// The command line of a child: the same, but for what makes it a child and some more options.
class ChildArguments {
 public:
  ChildArguments(const Options &options, int count, char **arguments,
                 std::initializer_list<const char *> additions)
      : texts_(arguments, arguments + count) {
    Options child = options;
    become_child(child);
    texts_.insert(texts_.end(), additions.begin(), additions.end());
    texts_.insert(texts_.end(), {"--name", child.name, "--prefix", child.prefix});
    if (!child.ground_truth.empty()) {
      texts_.insert(texts_.end(), {"--ground-truth", child.ground_truth});
    }
    for (std::string &text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  char **get() { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char *> pointers_;
};

// The same program and options with fork and exec.
pid_t spawn_child(const Options &options, int count, char **arguments) {
  ChildArguments child(options, count, arguments, {"--spawn-after", "0"});
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, child.get(), environ);
  if (error != 0) std::fprintf(stderr, "ros_node: spawn: %s\n", std::strerror(error));
  return pid;
}

// The same program and options with exec alone. What the other threads do meanwhile is not written
// down.
void exec_child(const Options &options, int count, char **arguments) {
  ChildArguments child(options, count, arguments,
                       {"--on-signal", "load", "--start-delay", "36000"});
  ground_truth::close();
  execv("/proc/self/exe", child.get());
  std::perror("ros_node: exec");
  std::_Exit(EXIT_FAILURE);
}

// Forks inside a callback. No thread but the one that forks is left in the child, so it cannot
// receive messages or signals: it ends with its parent.
void fork_child(const Options &options, Scenario &scenario) {
  if (::fork() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Options child = options;
  become_child(child);
  ground_truth::restart_after_fork(child.ground_truth, rmw_name());
  scenario.stop_publishing();
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
  const Ballast ballast = make_ballast(options.ballast);
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
  if (options.on_signal == OnSignal::fork) {
    control.on_user_signal(
        [&] { scenario.in_next_callback([&] { fork_child(options, scenario); }); });
  }
  if (options.on_signal == OnSignal::exec) {
    control.on_user_signal([&] { exec_child(options, count, arguments); });
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
