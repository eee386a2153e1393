// One line of the ground truth: a name and key=value fields.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "standin/ground_truth.hpp"

namespace ground_truth {

class Line {
 public:
  Line(std::string &text, const char *name, pid_t tid) : text_(text) {
    text_ += name;
    number("tid", static_cast<std::uint64_t>(tid));
  }
  ~Line() { text_ += '\n'; }
  Line(const Line &) = delete;
  Line &operator=(const Line &) = delete;

  void number(const char *key, std::uint64_t value) { field(key) += std::to_string(value); }
  void signed_number(const char *key, std::int64_t value) { field(key) += std::to_string(value); }
  void address(const char *key, const void *value) { field(key) += hex(value); }
  void string(const char *key, const char *value) { field(key) += value; }
  void gid(const char *key, const Gid &value) { field(key) += hex(value); }
  void bracket(const std::string &before, const std::string &after, Bracket times) {
    if (times.before == 0) return;
    number(before.c_str(), times.before);
    number(after.c_str(), times.after);
  }

 private:
  std::string &field(const char *key) {
    text_ += '\t';
    text_ += key;
    text_ += '=';
    return text_;
  }
  std::string &text_;
};

// Writes one event of this thread at once.
template <typename Fill>
void write_line(const char *name, Fill &&fill) {
  if (!enabled()) return;
  std::string text;
  {
    Line line(text, name, gettid());
    fill(line);
  }
  write_at_once(text);
}

// Keeps one event with the thread's other events.
template <typename Fill>
void append_line(const char *name, Fill &&fill) {
  if (!enabled()) return;
  std::string text;
  {
    Line line(text, name, gettid());
    fill(line);
  }
  append(std::move(text));
}

}  // namespace ground_truth
