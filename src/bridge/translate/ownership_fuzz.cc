// Whatever stands in a job's admin comment is read without harm; what is taken for ours is written
// and read as the same again, and finds the job by as many keys as it has pods.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/translate/ownership.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::bridge;
  const std::string_view comment(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> keys;
  admin_comment_keys(comment, keys);
  const auto owners = parse_admin_comment(comment);
  if (keys.size() != (owners ? owners->pods.size() : 0)) std::abort();
  if (owners && parse_admin_comment(to_admin_comment(*owners)) != owners) std::abort();
  return 0;
}
