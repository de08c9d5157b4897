// operator/nodeset/cordon_reason.cc
//
// The texts that Slurm's users read beside a drained node. Parts of them come from annotations and
// conditions that anybody may have written.
#include <fmt/format.h>

#include "api/names.h"
#include "base/text.h"
#include "operator/nodeset/cordon.h"

namespace mainspring::op {

namespace {

constexpr std::size_t kMostCharacters = 256;

// ASCII's and those of U+0080 to U+009F, which begin terminal sequences too.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

std::string cleaned(std::string_view text) {
  const std::string valid = sanitize_utf8(text);
  std::string out;
  for (std::string_view rest = valid; !rest.empty();) {
    const std::string_view character = rest.substr(0, utf8_sequence_length(rest));
    rest.remove_prefix(character.size());
    if (character == "\n" || character == "\t") {
      out += ' ';
    } else if (!is_control(character)) {
      out += character;
    }
  }
  std::string_view shown = trim(out);
  std::size_t bytes = 0;
  for (std::size_t count = 0; count < kMostCharacters && bytes < shown.size(); ++count) {
    bytes += utf8_sequence_length(shown.substr(bytes));
  }
  return std::string(trim(shown.substr(0, bytes)));
}

std::string propagated(const kube::Node& node, const CordonOptions& options) {
  std::string out;
  for (const std::string& type : options.propagated_conditions) {
    const auto* const condition = kube::find_condition(node.conditions, type);
    if (condition == nullptr || condition->status != kube::ConditionStatus::kTrue) continue;
    if (!out.empty()) out += "; ";
    out += fmt::format("({}: {})", condition->reason.view(), condition->message.view());
  }
  return out;
}

}  // namespace

std::string reason_text(std::string_view text) {
  std::string shown = cleaned(text);
  if (shown.empty()) shown = "unknown";
  return std::string(api::kReasonPrefix) + shown;
}

std::string node_cordon_reason(const kube::Node& node, const kube::Pod& pod,
                               const CordonOptions& options) {
  const auto note = node.meta.annotations.find(api::annotation::kNodeCordonReason);
  if (note && !cleaned(*note).empty()) return reason_text(*note);
  if (const std::string text = propagated(node, options); !text.empty()) return reason_text(text);
  return reason_text(fmt::format("Node ({}) was cordoned, Pod ({}/{}) must be cordoned",
                                 node.meta.name, pod.meta.ns, pod.meta.name));
}

}  // namespace mainspring::op
