#include "net/os_error.h"

#include <cctype>
#include <cerrno>
#include <system_error>

namespace mainspring::net {
namespace {

Code code_of(int number) {
  switch (number) {
    case EACCES:
    case EPERM:
      return Code::kForbidden;
    case EADDRINUSE:
      return Code::kAlreadyExists;
    case EAFNOSUPPORT:
    case EINVAL:
    case ENAMETOOLONG:
    case ENOTDIR:
      return Code::kInvalid;
    default:
      return Code::kTransient;
  }
}

}  // namespace

std::string os_error_text(int number) {
  std::string text = std::generic_category().message(number);
  // Reads on after "connecting to ...: ", but leaves names such as "RFS" alone.
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return text;
}

Error os_error(int number) { return Error(code_of(number), os_error_text(number)); }

}  // namespace mainspring::net
