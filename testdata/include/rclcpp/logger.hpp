#pragma once

#include <memory>
#include <string>

namespace rclcpp {

class Logger {
 public:
  explicit Logger(const std::string &name) : name_(std::make_shared<const std::string>(name)) {}

 private:
  std::shared_ptr<const std::string> name_;
#ifdef STANDIN_JAZZY
  std::shared_ptr<const std::string> logger_sublogger_pairname_;
#endif
};

}  // namespace rclcpp
