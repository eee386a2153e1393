#include "ballast.hpp"

#include <random>

namespace {
constexpr std::size_t kBlockMegabytes = 64;
constexpr std::size_t kWordsOfMegabyte = (1 << 20) / sizeof(std::uint64_t);
// One word in so many is a pointer.
constexpr std::size_t kPointerEvery = 8;
constexpr std::size_t kConstantEvery = 64;

constexpr char kConstants[] = "a constant of the program, in a read-only mapping of its file";

std::uint64_t address_of(const void *object) { return reinterpret_cast<std::uintptr_t>(object); }
}  // namespace

Ballast make_ballast(std::size_t megabytes) {
  Ballast ballast;
  std::mt19937_64 random(megabytes);
  while (megabytes > 0) {
    const std::size_t size = megabytes < kBlockMegabytes ? megabytes : kBlockMegabytes;
    megabytes -= size;
    std::vector<std::uint64_t> &block = ballast.emplace_back(size * kWordsOfMegabyte);
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (i % kConstantEvery == 0) {
        block[i] = address_of(kConstants + random() % sizeof(kConstants));
      } else if (i % kPointerEvery == 0) {
        block[i] = address_of(&block[random() % block.size()]);
      } else {
        block[i] = random();
      }
    }
  }
  return ballast;
}
