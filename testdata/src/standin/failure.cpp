#include "standin/failure.hpp"

namespace failure {
namespace {
thread_local Point armed = Point::none;
}

void arm(Point point) noexcept { armed = point; }

bool due(Point point) noexcept {
  if (armed != point || point == Point::none) return false;
  armed = Point::none;
  return true;
}

}  // namespace failure
