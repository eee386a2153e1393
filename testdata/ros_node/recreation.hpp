// A node with one entity of each kind that is created and destroyed again and again, so that
// addresses are used several times: by entities whose names take turns.
#pragma once

#include <array>
#include <memory>

#include "options.hpp"
#include "rclcpp/executor.hpp"
#include "samples.hpp"

class Recreation {
 public:
  Recreation(const Options &options, std::shared_ptr<rclcpp::Context> context,
             rclcpp::Executor &executor);

  // Until rclcpp::request_shutdown().
  void run();
  bool corrupted() const { return receivers_[0].corrupted() || receivers_[1].corrupted(); }

 private:
  void cycle(int turn);

  const Options &options_;
  std::shared_ptr<rclcpp::Context> context_;
  rclcpp::Executor &executor_;
  std::array<std::string, 2> topics_;
  std::array<Receiver, 2> receivers_;
};
