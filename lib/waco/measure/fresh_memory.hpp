// Memory that is as fresh for every packing in a process, and every set-up of a library, as it is for the
// only one of a user's program.
#pragma once

namespace waco::measure {

/// While one lives, larger blocks (128 KB) come fresh from the system. Otherwise the allocator hands pages to
/// later packings that an earlier one brought in and freed, which makes them faster than the first. At its
/// end the allocator may keep freed memory again, as it comes to do by itself: what some libraries allocate
/// in every call does not pay for it.
class FreshMemory {
 public:
  FreshMemory();
  ~FreshMemory();
  FreshMemory(const FreshMemory&) = delete;
  FreshMemory& operator=(const FreshMemory&) = delete;
};

}  // namespace waco::measure
