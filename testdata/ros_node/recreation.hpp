// A node with one entity of each kind that is created and destroyed again and again, so that
// addresses are used several times.
#pragma once

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
  bool corrupted() const { return receiver_.corrupted(); }

 private:
  void cycle();

  const Options &options_;
  std::shared_ptr<rclcpp::Context> context_;
  rclcpp::Executor &executor_;
  std::string topic_;
  Receiver receiver_;
};
