#include "net/small_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "net/os_error.h"

namespace mainspring::net {

Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return fail(Code::kNotFound, path + " does not exist");
    return fail(os_error(errno).with_context("reading " + path));
  }
  std::string text;
  std::array<char, std::size_t{16} * 1024> buffer;
  ssize_t count = 0;
  while (text.size() <= max_bytes && (count = ::read(fd, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  const int error = errno;
  ::close(fd);
  if (count < 0) return fail(os_error(error).with_context("reading " + path));
  if (text.size() > max_bytes) {
    return fail(Code::kTooLarge, fmt::format("{} is larger than {} bytes", path, max_bytes));
  }
  return text;
}

}  // namespace mainspring::net
