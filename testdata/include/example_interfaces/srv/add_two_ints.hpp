#pragma once

#include <cstdint>

namespace example_interfaces::srv {

struct AddTwoInts_Request {
  std::int64_t a = 0;
  std::int64_t b = 0;
};

struct AddTwoInts_Response {
  std::int64_t sum = 0;
};

struct AddTwoInts {
  using Request = AddTwoInts_Request;
  using Response = AddTwoInts_Response;
};

}  // namespace example_interfaces::srv
