#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

// A flag's name, the name of its value (null: it has none), its help and what it sets.
struct Flag {
  const char *name;
  const char *value;
  const char *help;
  std::function<bool(Options &, const std::string &)> set;
};

template <auto Member>
bool set_number(Options &options, const std::string &text) {
  auto &target = options.*Member;
  const char *const end = text.data() + text.size();
  std::remove_reference_t<decltype(target)> value{};
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || value < 0) return false;
  target = value;
  return true;
}

template <auto Member>
bool set_text(Options &options, const std::string &text) {
  options.*Member = text;
  return true;
}

template <auto Member, bool Value = true>
bool set_switch(Options &options, const std::string &) {
  options.*Member = Value;
  return true;
}

bool set_callback_form(Options &options, const std::string &text) {
  options.callback_form = text == "unique"   ? CallbackForm::unique
                          : text == "shared" ? CallbackForm::shared
                          : text == "mixed"  ? CallbackForm::mixed
                                             : CallbackForm::reference;
  return text == "unique" || text == "shared" || text == "mixed" || text == "reference";
}

bool set_fail_at(Options &options, const std::string &text) {
  options.fail_at = text == "rmw"   ? failure::Point::rmw
                    : text == "dds" ? failure::Point::dds
                                    : failure::Point::rcl;
  return text == "rcl" || text == "rmw" || text == "dds";
}

bool set_on_signal(Options &options, const std::string &text) {
  options.on_signal = text == "fork"   ? OnSignal::fork
                      : text == "exec" ? OnSignal::exec
                                       : OnSignal::load;
  return text == "load" || text == "fork" || text == "exec";
}

bool set_random(Options &options, const std::string &text) {
  std::uint64_t seed = 0;
  const char *const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, seed).ptr != end) return false;
  options.random = seed;
  return true;
}

const std::vector<Flag> &flags() {
  using O = Options;
  static const std::vector<Flag> all = {
      {"domain", "ID", "DDS domain", set_number<&O::domain>},
      {"ground-truth", "FILE", "write what happens to FILE", set_text<&O::ground_truth>},
      {"ground-truth-sync", "N", "each thread writes out after N events, not only at the end",
       set_number<&O::ground_truth_sync>},
      {"start-delay", "S", "wait before doing anything (SIGUSR1 ends it)",
       set_number<&O::start_delay>},
      {"rmw-after", "S", "wait before the rmw library is loaded (SIGUSR1 ends it)",
       set_number<&O::rmw_after>},
      {"duration", "S", "stop by itself, counted from \"ready\"", set_number<&O::duration>},
      {"fork", nullptr, "a child does the same, named <name>_child, ground truth in FILE.child",
       set_switch<&O::fork>},
      {"spawn-after", "S", "start such a child with fork and exec", set_number<&O::spawn_after>},
      {"on-signal", "ACTION",
       "what SIGUSR1 does: load the component, fork such a child, which goes on with the timers, "
       "or "
       "exec such a program, which SIGUSR1 then begins",
       set_on_signal},
      {"demo-talker", nullptr, "publish and print on /chatter at 10 Hz, nothing else",
       [](O &o, const std::string &) { return o.demo = Demo::talker, true; }},
      {"demo-listener", nullptr, "print what comes on /chatter, nothing else",
       [](O &o, const std::string &) { return o.demo = Demo::listener, true; }},
      {"ballast", "MEGABYTES", "resident memory beside the nodes", set_number<&O::ballast>},
      {"evict-strings", nullptr,
       "initialization events and transitions show strings that are not resident",
       set_switch<&O::evict_strings>},

      {"name", "NAME", "node name; several nodes get a number appended", set_text<&O::name>},
      {"namespace", "NS", "node namespace", set_text<&O::name_space>},
      {"prefix", "PREFIX", "topics are PREFIX/n<node>/t<topic>", set_text<&O::prefix>},
      {"nodes", "N", "nodes; node i subscribes to what node i-1 publishes", set_number<&O::nodes>},
      {"same-name", nullptr, "which all have the same name", set_switch<&O::same_name>},
      {"topics", "N", "publishers of a node, each with a topic and a timer of its own",
       set_number<&O::topics>},
      {"publishers-per-timer", "N", "let one timer publish to N topics alternately",
       set_number<&O::publishers_per_timer>},
      {"subscriptions-per-topic", "N", "N subscriptions of everything published",
       set_number<&O::subscriptions_per_topic>},
      {"publish-only", nullptr, "no subscriptions", set_switch<&O::subscribe, false>},
      {"subscribe-only", nullptr, "no publishers", set_switch<&O::publish, false>},
      {"intra-process", nullptr, "intra-process communication", set_switch<&O::intra_process>},
      {"chain", nullptr, "subscription callbacks publish on <topic>/relayed",
       set_switch<&O::chain>},
      {"callback-form", "FORM", "reference, unique, shared or, alternately, all (mixed)",
       set_callback_form},
      {"rate", "HZ", "timer rate; 0: as fast as possible", set_number<&O::rate>},
      {"count", "N", "messages a publisher, then no more", set_number<&O::count>},
      {"payload", "BYTES", "message size", set_number<&O::payload>},
      {"depth", "N", "QoS depth", set_number<&O::depth>},
      {"threads", "N", "more than 1: multi-threaded executor, a group an entity",
       set_number<&O::threads>},
      {"static-executor", nullptr, "a static single-threaded executor, whatever --threads says",
       set_switch<&O::static_executor>},
      {"reentrant", nullptr, "reentrant callback groups", set_switch<&O::reentrant>},
      {"wait-subscribers", "N", "after \"ready\", wait for N subscriptions of each publisher",
       set_number<&O::wait_subscribers>},
      {"expect-all", nullptr, "a lost message is an error", set_switch<&O::expect_all>},

      {"nested-depth", "N", "a timer callback spins, N callbacks deep",
       set_number<&O::nested_depth>},
      {"nested-rate", "HZ", "how often", set_number<&O::nested_rate>},
      {"polled-rate", "HZ",
       "a timer callback that takes without callbacks, also serialized and loaned messages",
       set_number<&O::polled_rate>},
      {"polled-then-spin", nullptr, "and then spins", set_switch<&O::polled_then_spin>},
      {"service-rate", "HZ", "requests to a service of its own", set_number<&O::service_rate>},
      {"service-clients", "N", "by N clients each time", set_number<&O::service_clients>},
      {"deferred-service-rate", "HZ", "requests that another thread answers later",
       set_number<&O::deferred_service_rate>},
      {"untaken-response-rate", "HZ", "requests whose responses nobody takes",
       set_number<&O::untaken_response_rate>},
      {"empty-take-rate", "HZ", "takes of requests and responses where there are none",
       set_number<&O::empty_take_rate>},
      {"sleep", "MS", "callbacks sleep after their own work", set_number<&O::sleep>},
      {"throw-every", "N", "every Nth callback throws", set_number<&O::throw_every>},
      {"move-every", "N", "every Nth callback moves its thread to another CPU, where it stays",
       set_number<&O::move_every>},
      {"publish-after-throw", nullptr, "publishes where what a callback threw is caught",
       set_switch<&O::publish_after_throw>},
      {"outside-rate", "HZ", "publishes outside of callbacks", set_number<&O::outside_rate>},
      {"fail-every", "N", "every Nth publish fails", set_number<&O::fail_every>},
      {"fail-at", "LAYER", "rcl, rmw (before their tracepoints) or dds", set_fail_at},
      {"churn-rate", "HZ", "threads that publish, execute a callback and exit",
       set_number<&O::churn_rate>},
      {"exit-in-callback", nullptr, "every second of them exits inside its callback",
       set_switch<&O::exit_in_callback>},
      {"recreate-rate", "HZ", "a node with an entity of each kind is created and destroyed",
       set_number<&O::recreate_rate>},
      {"timer-forms", "HZ", "timers whose functions have all forms and sizes",
       set_number<&O::timer_forms_rate>},
      {"serialized-rate", "HZ", "a generic publisher and a generic subscription",
       set_number<&O::serialized_rate>},
      {"loaned-rate", "HZ", "loaned messages", set_number<&O::loaned_rate>},
      {"lifecycle-rate", "HZ", "transitions of the first node's life cycle",
       set_number<&O::lifecycle_rate>},
      {"sim-time-rate", "HZ", "messages on /clock, and two clocks that follow them",
       set_number<&O::sim_time_rate>},
      {"component", "FILE", "component library; \"default\" is the bundled one",
       set_text<&O::component>},
      {"load-after", "S", "load it after S seconds (0: on SIGUSR1)", set_number<&O::load_after>},
      {"random", "SEED", "choose nodes, topics and irregular behaviour at random", set_random},
  };
  return all;
}

[[noreturn]] void print_help() {
  std::printf("ros_node: a ROS-shaped program (" STANDIN_DISTRO ") that knows what it does\n\n");
  for (const Flag &flag : flags()) {
    const std::string left =
        std::string(flag.name) + (flag.value ? " " : "") + (flag.value ? flag.value : "");
    std::printf("  --%-26s %s\n", left.c_str(), flag.help);
  }
  std::printf("\nThe rmw is chosen by RMW_IMPLEMENTATION.\n");
  std::exit(EXIT_SUCCESS);
}

[[noreturn]] void fail(const std::string &message) {
  std::fprintf(stderr, "ros_node: %s; see --help\n", message.c_str());
  std::exit(2);
}

}  // namespace

Options parse_options(int count, char **arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--help") print_help();
    const auto flag = std::find_if(flags().begin(), flags().end(), [&](const Flag &candidate) {
      return argument == std::string("--") + candidate.name;
    });
    if (flag == flags().end()) fail("unknown argument " + argument);
    std::string value;
    if (flag->value != nullptr) {
      if (++i == count) fail(argument + " needs a value");
      value = arguments[i];
    }
    if (!flag->set(options, value)) fail(argument + " does not accept \"" + value + "\"");
  }
  if (options.random) randomize(options, *options.random);
  return options;
}

void randomize(Options &options, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto pick = [&](unsigned lowest, unsigned highest) {
    return std::uniform_int_distribution<unsigned>(lowest, highest)(generator);
  };
  const auto one_in = [&](unsigned n) { return pick(1, n) == 1; };
  options.nodes = pick(1, 3);
  options.topics = pick(1, 3);
  options.publishers_per_timer = pick(1, 3);
  options.intra_process = one_in(2);
  options.chain = one_in(2);
  options.callback_form = static_cast<CallbackForm>(pick(0, 2));
  options.rate = pick(20, 200);
  options.payload = pick(0, 512);
  options.threads = one_in(2) ? 1 : pick(2, 4);
  options.reentrant = one_in(4);
  options.nested_depth = pick(1, 9);
  options.nested_rate = pick(5, 20);
  options.polled_rate = one_in(2) ? 0 : pick(5, 50);
  options.polled_then_spin = one_in(2);
  options.service_rate = one_in(2) ? 0 : pick(5, 50);
  options.throw_every = one_in(2) ? 0 : pick(17, 101);
  options.outside_rate = one_in(2) ? 0 : pick(5, 50);
  options.fail_every = one_in(2) ? 0 : pick(7, 51);
  options.fail_at = static_cast<failure::Point>(pick(1, 3));
  options.churn_rate = one_in(2) ? 0 : pick(2, 10);
  options.exit_in_callback = one_in(2);
}
