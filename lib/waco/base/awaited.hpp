// Waiting for the other end of a pipe, or of the like, until a signal asks to stop.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "waco/base/descriptor.hpp"

namespace waco {

/// Opens a file to be read; a pipe that nobody writes to yet, too, of which reading then waits. None, with
/// errno, when it can't be opened.
Descriptor open_to_read(const std::filesystem::path& file);

/// As read(2), but where there is nothing to read yet it waits only until a signal asks to stop: then, and at
/// an end that comes after such a signal, it throws Stopped. Whoever writes to a pipe may have got the
/// signal, too, and what came is no whole. Content of files is read to its end. `name` is for that error.
ssize_t read_awaited(int fd, char* to, size_t size, const std::string& name);

/// Opens a stream to be written to, a pipe once somebody reads it. None, with errno, when it can't be opened.
/// Throws Stopped when a signal asks to stop before.
Descriptor open_awaited(const std::filesystem::path& stream);

}  // namespace waco
