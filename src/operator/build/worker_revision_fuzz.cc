// A ControllerRevision holds whatever somebody stored in it. Data that a NodeSet does not have is
// not its revision, marked as upstream's or not; and whatever it is, it is compared and nothing
// else.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "operator/build/worker.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const json::Value ours = op::build::revision_data(api::NodeSet{});
  const bool same = op::build::same_revision(ours, text);
  auto theirs = json::parse(text);
  if (same && !theirs) __builtin_trap();
  if (!theirs) return 0;

  // With our own data it is the same, and stays so with the marks of upstream's.
  if (!op::build::same_revision(*theirs, text)) __builtin_trap();
  if (theirs->at_pointer("/spec/template") == nullptr) return 0;
  json::Value marked = *theirs;
  marked["spec"]["template"]["$patch"] = "replace";
  if (!marked.at_pointer("/spec/template")->is_object()) return 0;
  if (theirs->at_pointer("/spec/template")->is_object() &&
      !op::build::same_revision(*theirs, json::to_text(marked))) {
    __builtin_trap();
  }
  return 0;
}
