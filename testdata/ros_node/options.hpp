// The command line of ros_node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "standin/failure.hpp"

enum class CallbackForm { reference, unique, shared, mixed };
enum class Demo { none, talker, listener };
enum class OnSignal { load, fork, exec };

struct Options {
  // Where and how it runs.
  std::size_t domain = 0;
  std::string ground_truth;
  unsigned ground_truth_sync = 0;
  double start_delay = 0;  // seconds
  double rmw_after = 0;    // seconds
  double duration = 0;     // seconds; 0: until a signal comes
  bool fork = false;
  double spawn_after = 0;  // seconds; 0: never
  OnSignal on_signal = OnSignal::load;
  Demo demo = Demo::none;
  std::size_t ballast = 0;  // megabytes
  bool evict_strings = false;

  // Nodes and topics.
  std::string name = "standin";
  std::string name_space = "/";
  std::string prefix = "/standin";
  unsigned nodes = 1;
  bool same_name = false;
  unsigned topics = 1;
  unsigned publishers_per_timer = 1;
  unsigned subscriptions_per_topic = 1;
  bool publish = true;
  bool subscribe = true;
  bool intra_process = false;
  bool chain = false;
  CallbackForm callback_form = CallbackForm::reference;
  double rate = 10;         // publishes a second and topic; 0: as fast as possible
  std::uint64_t count = 0;  // messages a publisher; 0: unlimited
  std::size_t payload = 64;
  std::size_t depth = 100;
  unsigned threads = 1;
  bool static_executor = false;
  bool reentrant = false;
  unsigned wait_subscribers = 0;
  bool expect_all = false;

  // Irregular behaviour; a rate or interval of 0 means never.
  unsigned nested_depth = 0;
  double nested_rate = 10;
  double polled_rate = 0;
  bool polled_then_spin = false;
  double service_rate = 0;
  unsigned service_clients = 1;
  double deferred_service_rate = 0;
  double untaken_response_rate = 0;
  double empty_take_rate = 0;
  double sleep = 0;
  unsigned throw_every = 0;
  unsigned move_every = 0;
  bool publish_after_throw = false;
  double outside_rate = 0;
  unsigned fail_every = 0;
  failure::Point fail_at = failure::Point::rcl;
  double churn_rate = 0;
  double recreate_rate = 0;
  double lifecycle_rate = 0;
  double sim_time_rate = 0;
  double timer_forms_rate = 0;
  double serialized_rate = 0;
  double loaned_rate = 0;
  bool exit_in_callback = false;
  std::string component;
  double load_after = 0;
  std::optional<std::uint64_t> random;
};

// Ends the process with a message if the command line is wrong, or after --help.
Options parse_options(int count, char **arguments);
// Chooses everything under "nodes and topics" and "irregular behaviour" from the seed.
void randomize(Options &options, std::uint64_t seed);
