// Whatever an object says, it is read and judged, and what is said about it fits on a line. An
// object that is judged good stays so when it is updated to itself.
#include "api/validate.h"

#include <cstdint>
#include <cstdlib>

namespace {

using namespace mainspring;

template <class Kind>
void judge(json::Reader& reader, std::string_view text) {
  const auto object = json::decode<Kind>(reader, text);
  if (!object) return;
  const api::Findings found = api::validate(*object, nullptr);
  for (const api::Problem& problem : found.problems) {
    if (problem.field.empty() || problem.message.find('\n') != std::string::npos) std::abort();
  }
  if (!api::validate(*object, &*object).ok()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  json::Reader reader;
  judge<api::Controller>(reader, text);
  judge<api::NodeSet>(reader, text);
  judge<api::LoginSet>(reader, text);
  judge<api::RestApi>(reader, text);
  judge<api::Accounting>(reader, text);
  judge<api::Token>(reader, text);
  return 0;
}
