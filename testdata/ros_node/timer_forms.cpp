#include "timer_forms.hpp"

#include <array>
#include <atomic>
#include <string>

namespace {

using std::chrono::nanoseconds;

std::atomic<std::uint64_t> calls{0};

void count_call() { ++calls; }

struct Byte {
  void operator()() { calls += value; }
  std::uint8_t value = 1;
};

// Neither it nor what is beside it lies at a multiple of a word.
struct Variables {
  char first;
  Byte byte;
  Byte shared;
};

struct alignas(64) Wide {
  void operator()() { calls += line[0]; }
  std::array<std::uint64_t, 8> line{1};
};

struct Counter {
  void count() { ++calls; }
};

struct TimerOfItsOwn : rclcpp::WallTimer<Byte> {
  using WallTimer::WallTimer;
  std::array<std::uint64_t, 4> more{};
};

class Timers {
 public:
  Timers(SampleNode &node, double rate) : node_(node), period_(period_of(rate)) {}

  template <typename Callback>
  void add(Callback callback) {
    node_.keep_timer(node_.create_wall_timer(next_period(), std::move(callback)));
  }

  template <typename Callback>
  void add_reference(Callback &callback) {
    node_.keep_timer(node_.create_timer(next_period(), callback));
  }

  void add_own() {
    const nanoseconds period = next_period();
    node_.keep_timer(node_.add_timer(
        std::make_shared<TimerOfItsOwn>(period, Byte{}, node_.get_node_base()->get_context()),
        period));
  }

 private:
  nanoseconds next_period() { return period_ += std::chrono::microseconds(1); }

  SampleNode &node_;
  nanoseconds period_;
};

}  // namespace

void add_timers_of_all_forms(SampleNode &node, double rate) {
  static Variables variables;
  static Counter counter;
  static auto referred = [] { count_call(); };
  Timers timers(node, rate);
  timers.add([] { count_call(); });
  timers.add(Byte{});
  timers.add([ready = true] { calls += ready; });
  timers.add([a = std::uint8_t{0}, b = std::uint8_t{1}] { calls += a + b; });
  timers.add([ready = true, step = std::int16_t{1}] { calls += ready ? step : 0; });
  timers.add([steps = std::array<std::int32_t, 3>{1, 2, 3}] { calls += steps[0]; });
  timers.add([counter = &counter] { counter->count(); });
  timers.add(Wide{});
  timers.add(&count_call);
  timers.add(std::bind(&Counter::count, &counter));
  timers.add(std::function<void()>(count_call));
  timers.add(
      [text = std::string("a text that a string keeps elsewhere")] { calls += text.size(); });
  timers.add_own();
  timers.add_reference(referred);
  timers.add_reference(variables.byte);
  timers.add_reference(variables.shared);
  timers.add_reference(variables.shared);
  timers.add_reference(count_call);
}
