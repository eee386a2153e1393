#include "scenario.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>
#include <stdexcept>

#include "standin/evicted.hpp"
#include "standin/ground_truth.hpp"

using rclcpp::CallbackGroupType;

namespace {

constexpr auto kMatchTimeout = std::chrono::seconds(200);
constexpr auto kPollInterval = std::chrono::milliseconds(5);
constexpr unsigned kMessagesOfThread = 3;

thread_local unsigned nesting = 0;
thread_local bool exit_in_next_callback = false;

void ignore_interruption() {}

}  // namespace

Scenario::Scenario(const Options &options) : options_(options), behaviour_(options) {
  if (options.evict_strings) evicted::enable();
  context_->init(options.domain);
  rclcpp::ExecutorOptions executor_options;
  executor_options.context = context_;
  if (options.static_executor) {
    executor_ = std::make_unique<rclcpp::executors::StaticSingleThreadedExecutor>(executor_options);
  } else if (options.threads == 1) {
    executor_ = std::make_unique<rclcpp::executors::SingleThreadedExecutor>(executor_options);
  } else {
    auto executor = std::make_unique<rclcpp::executors::MultiThreadedExecutor>(executor_options,
                                                                               options.threads);
    executor->set_on_exception(ignore_interruption);
    executor_ = std::move(executor);
  }
  add_nodes();
  add_topics();
  if (options.nested_depth != 0) add_nested_spinning();
  if (options.polled_rate != 0) add_polling();
  service_calls_ = std::make_unique<ServiceCalls>(first(), options, behaviour_);
  node_features_ = std::make_unique<NodeFeatures>(first(), options);
  raw_messages_ = std::make_unique<RawMessages>(first(), options, behaviour_);
  if (options.recreate_rate != 0) {
    recreation_ = std::make_unique<Recreation>(options, context_, *executor_);
  }
  if (options.outside_rate != 0 || options.publish_after_throw) add_outside_publisher();
  if (options.churn_rate != 0) add_thread_churn();
  if (options.random) add_random_actions();
}

std::string Scenario::topic(unsigned node, unsigned index) const {
  return options_.prefix + "/n" + std::to_string(node) + "/t" + std::to_string(index);
}

void Scenario::add_nodes() {
  for (unsigned i = 0; i < options_.nodes; ++i) {
    const std::string number = options_.nodes == 1 || options_.same_name ? "" : std::to_string(i);
    nodes_.push_back(
        std::make_shared<SampleNode>(options_.name + number, context_, options_, behaviour_));
    executor_->add_node(nodes_.back());
  }
}

void Scenario::add_topics() {
  for (unsigned i = 0; i < options_.nodes; ++i) {
    SampleNode &publishing = *nodes_[i];
    SampleNode &subscribing = *nodes_[(i + 1) % options_.nodes];
    for (unsigned t = 0; options_.publish && t < options_.topics; ++t) {
      std::vector<Sender *> senders;
      for (unsigned k = 0; k < options_.publishers_per_timer; ++k) {
        senders.push_back(&publishing.add_sender(topic(i, t * options_.publishers_per_timer + k)));
      }
      publishing.publish_periodically(options_.rate, senders, publishing.group_for_entity());
    }
    for (unsigned t = 0; options_.subscribe && t < options_.topics * options_.publishers_per_timer;
         ++t) {
      if (options_.chain) {
        const std::string relayed = topic(i, t) + "/relayed";
        subscribing.relay(topic(i, t), subscribing.add_sender(relayed));
        publishing.subscribe(relayed, Receiver::Loss::forbidden, publishing.group_for_entity());
      }
      for (unsigned k = 0; k < options_.subscriptions_per_topic; ++k) {
        subscribing.subscribe(topic(i, t), Receiver::Loss::forbidden,
                              subscribing.group_for_entity());
      }
    }
  }
}

// A timer in a reentrant group that only nested spins execute: its callback spins again, down to
// the depth asked for, so that the same callback is open several times on one thread.
void Scenario::add_nested_spinning() {
  nested_group_ = first().group_without_executor(CallbackGroupType::Reentrant);
  Sender *const sender = &first().add_sender(options_.prefix + "/nested");
  first().subscribe(sender->topic(), Receiver::Loss::allowed, nested_group_);
  first().run_periodically(
      0,
      [this, sender] {
        sender->send();
        if (nesting + 1 < options_.nested_depth) spin_nested();
        sender->send();
      },
      nested_group_);
  first().run_periodically(
      options_.nested_rate, [this] { spin_nested(); }, first().group_for_entity());
}

// As rclcpp::spin_some() does, with an executor of its own. Every other time an exception goes on
// to the outer callback.
void Scenario::spin_nested() {
  if (nested_group_ == nullptr || nesting >= options_.nested_depth) return;
  struct Level {
    Level() { ++nesting; }
    ~Level() { --nesting; }
  } const level;
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_callback_group(nested_group_, nodes_.front()->get_node_base());
  const bool catches = ++nested_spins_ % 2 == 0;
  try {
    executor.spin_once(std::chrono::nanoseconds::zero());
    executor.spin_once(std::chrono::nanoseconds::zero());
  } catch (const Interruption &) {
    if (!catches) throw;
  }
}

void Scenario::add_polling() {
  const std::string polled_topic = options_.publish ? topic(0, 0) : options_.prefix + "/n0/t0";
  polled_ = &first().subscribe_without_executor(polled_topic);
  polled_receiver_ =
      std::make_unique<Receiver>(polled_topic, Receiver::Loss::allowed, !options_.reentrant);
  first().run_periodically(
      options_.polled_rate,
      [this] {
        poll();
        if (options_.polled_then_spin) spin_nested();
      },
      first().group_for_entity());
}

void Scenario::poll() {
  Sample message;
  rclcpp::MessageInfo info;
  while (!stopping_ && polled_->take(message, info)) polled_receiver_->receive(message);
}

void Scenario::add_outside_publisher() {
  outside_ = &first().add_sender(options_.prefix + "/outside");
  first().subscribe(outside_->topic(), Receiver::Loss::forbidden, first().group_for_entity());
}

void Scenario::publish_outside() {
  while (rclcpp::ok()) {
    outside_->send();
    std::this_thread::sleep_for(period_of(options_.outside_rate));
  }
}

void Scenario::add_thread_churn() {
  churn_sender_ = &first().add_sender(options_.prefix + "/churn");
  first().subscribe(churn_sender_->topic(), Receiver::Loss::forbidden, first().group_for_entity());
  churn_group_ = first().group_without_executor(CallbackGroupType::Reentrant);
  first().run_periodically(
      0,
      [this] {
        churn_sender_->send();
        if (exit_in_next_callback) {
          ground_truth::thread_will_exit();
          pthread_exit(nullptr);
        }
      },
      churn_group_);
}

void Scenario::churn() {
  for (std::uint64_t count = 0; rclcpp::ok(); ++count) {
    std::thread([this, count] {
      for (unsigned i = 0; i < kMessagesOfThread; ++i) churn_sender_->send();
      exit_in_next_callback = options_.exit_in_callback && count % 2 == 0;
      rclcpp::executors::SingleThreadedExecutor executor;
      executor.add_callback_group(churn_group_, nodes_.front()->get_node_base());
      try {
        executor.spin_once(std::chrono::nanoseconds::zero());
      } catch (const Interruption &) {
      }
    }).join();
    std::this_thread::sleep_for(period_of(options_.churn_rate));
  }
}

void Scenario::add_random_actions() {
  for (const std::shared_ptr<SampleNode> &node : nodes_) {
    for (const std::unique_ptr<Sender> &sender : node->senders()) {
      behaviour_.add_action([raw = sender.get()] { raw->send(); });
    }
  }
  behaviour_.add_action([this] { spin_nested(); });
  if (polled_ != nullptr && options_.threads == 1) behaviour_.add_action([this] { poll(); });
}

unsigned Scenario::subscriptions_of(const std::string &name) const {
  unsigned count = polled_receiver_ != nullptr && polled_receiver_->topic() == name ? 1 : 0;
  for (const std::shared_ptr<SampleNode> &node : nodes_) {
    for (const std::unique_ptr<Receiver> &receiver : node->receivers()) {
      if (receiver->topic() == name) ++count;
    }
  }
  return count;
}

bool Scenario::wait_for_matches(unsigned others) {
  const auto start = std::chrono::steady_clock::now();
  for (const std::shared_ptr<SampleNode> &node : nodes_) {
    for (const std::unique_ptr<Sender> &sender : node->senders()) {
      const unsigned expected = subscriptions_of(sender->topic()) + others;
      while (sender->subscription_count() < expected) {
        if (!rclcpp::ok()) return false;
        if (others == 0 && std::chrono::steady_clock::now() - start > kMatchTimeout) {
          throw std::runtime_error("no match on " + sender->topic());
        }
        std::this_thread::sleep_for(kPollInterval);
      }
    }
  }
  return true;
}

// Further down than the callback was that has thrown: the stack alone does not tell that it is
// over.
[[gnu::noinline]] static void send_deep_in_the_stack(Sender &sender) {
  volatile char room[1 << 14];
  room[0] = 0;
  sender.send();
  room[sizeof(room) - 1] = 0;
}

void Scenario::spin_until_shutdown() {
  while (rclcpp::ok()) {
    try {
      executor_->spin();
    } catch (const Interruption &) {
      // As programs do that catch what comes out of spin() and go on.
      if (options_.publish_after_throw) send_deep_in_the_stack(*outside_);
    }
  }
}

void Scenario::run() {
  std::vector<std::thread> threads;
  if (options_.outside_rate != 0) threads.emplace_back([this] { publish_outside(); });
  if (churn_sender_ != nullptr) threads.emplace_back([this] { churn(); });
  if (recreation_ != nullptr) threads.emplace_back([this] { recreation_->run(); });
  spin_until_shutdown();
  for (std::thread &thread : threads) thread.join();
  if (service_calls_ != nullptr) service_calls_->stop_answering();
}

void Scenario::load_component(const std::string &path) {
  void *const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  using Create = std::shared_ptr<rclcpp::Node>(
      const std::string &prefix, std::shared_ptr<rclcpp::Context> context, bool intra_process);
  auto *const create = reinterpret_cast<Create *>(dlsym(library, "standin_create_component"));
  stop_component_ =
      reinterpret_cast<void (*)(rclcpp::Node &)>(dlsym(library, "standin_stop_component"));
  if (create == nullptr || stop_component_ == nullptr) throw std::runtime_error(dlerror());
  component_ = create(options_.prefix, context_, options_.intra_process);
  executor_->add_node(component_);
}

void Scenario::stop_publishing() {
  stopping_ = true;
  for (const std::shared_ptr<SampleNode> &node : nodes_) {
    for (const std::unique_ptr<Sender> &sender : node->senders()) sender->stop();
  }
  if (component_ != nullptr) stop_component_(*component_);
}

std::uint64_t Scenario::lost() {
  std::uint64_t lost = 0;
  for (const std::shared_ptr<SampleNode> &node : nodes_) {
    for (const std::unique_ptr<Receiver> &receiver : node->receivers()) {
      std::uint64_t lost_here = receiver->missing();
      for (const std::shared_ptr<SampleNode> &other : nodes_) {
        for (const std::unique_ptr<Sender> &sender : other->senders()) {
          if (sender->topic() != receiver->topic()) continue;
          lost_here = std::max(lost_here, receiver->missing_of(sender->id(), sender->sent()));
        }
      }
      lost += lost_here;
    }
  }
  return lost;
}

bool Scenario::all_received() { return lost() == 0; }

bool Scenario::verify() {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  bool corrupted = !service_calls_->correct() || raw_messages_->corrupted();
  for (const std::shared_ptr<SampleNode> &node : nodes_) {
    for (const std::unique_ptr<Sender> &sender : node->senders()) sent += sender->sent();
    for (const std::unique_ptr<Receiver> &receiver : node->receivers()) {
      received += receiver->received();
      corrupted = corrupted || receiver->corrupted();
    }
  }
  if (polled_receiver_ != nullptr) corrupted = corrupted || polled_receiver_->corrupted();
  if (recreation_ != nullptr) corrupted = corrupted || recreation_->corrupted();
  std::printf("sent %llu received %llu lost %llu corrupted %s\n",
              static_cast<unsigned long long>(sent), static_cast<unsigned long long>(received),
              static_cast<unsigned long long>(lost()), corrupted ? "yes" : "no");
  return !corrupted && (!options_.expect_all || lost() == 0);
}
