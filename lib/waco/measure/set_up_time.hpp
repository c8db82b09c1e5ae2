// How long it takes to make a matrix ready for a kernel: to pack it, or what a library does in place of that.
#pragma once

#include <functional>

namespace waco::measure {

/// Calls `set_up` up to three times, as long as all take less than 30 ms together, in fresh memory, and
/// `clear` before each, untimed. Returns the nanoseconds of the shortest: threads that have to be woken, or
/// that others keep waiting, cost milliseconds. What the last one made stays.
double shortest_set_up_ns(const std::function<void()>& clear, const std::function<void()>& set_up);

}  // namespace waco::measure
