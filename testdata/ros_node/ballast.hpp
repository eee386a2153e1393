// Memory that a process has beside its nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

using Ballast = std::vector<std::vector<std::uint64_t>>;

// As perception nodes have it: many numbers, some pointers into itself, few to the program's
// constants. All of it is resident.
Ballast make_ballast(std::size_t megabytes);
