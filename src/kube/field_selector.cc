#include "kube/field_selector.h"

#include <fmt/format.h>

#include "base/text.h"
#include "kube/pod.h"

namespace mainspring::kube {

namespace {

// At commas that have no '\' before them.
std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t begin = 0;
  bool escaped = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (escaped) {
      escaped = false;
    } else if (text[i] == '\\') {
      escaped = true;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  terms.push_back(text.substr(begin));
  return terms;
}

Result<std::string> unescape(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\') {
      c = ++i < text.size() ? text[i] : '\0';
      if (c != '\\' && c != ',' && c != '=') {
        return fail(Code::kInvalid,
                    fmt::format("{}: '\\' may stand before '\\', ',' and '=' only", quoted(text)));
      }
    } else if (c == '=' || c == ',') {
      return fail(Code::kInvalid, fmt::format("{}: write '\\{}' for '{}'", quoted(text), c, c));
    }
    value += c;
  }
  return value;
}

Result<FieldTerm> parse_term(std::string_view term) {
  for (std::size_t i = 0; i < term.size(); ++i) {
    const std::string_view rest = term.substr(i);
    const bool equal = rest.front() == '=';
    if (!equal && !rest.starts_with("!=")) continue;
    const std::size_t size = rest.starts_with("==") || !equal ? 2 : 1;
    MS_TRY(std::string value, unescape(rest.substr(size)));
    return FieldTerm{std::string(term.substr(0, i)), std::move(value), equal};
  }
  return fail(Code::kInvalid, quoted(term) + " has no operator; use =, == or !=");
}

constexpr std::string_view kPodFields[] = {"metadata.name",
                                           "metadata.namespace",
                                           "spec.nodeName",
                                           "spec.restartPolicy",
                                           "spec.schedulerName",
                                           "spec.serviceAccountName",
                                           "spec.hostNetwork",
                                           "status.phase",
                                           "status.podIP",
                                           "status.podIPs",
                                           "status.nominatedNodeName"};

std::string_view phase_word(PodPhase phase) {
  constexpr std::string_view kWords[] = {"",          "Pending", "Running",
                                         "Succeeded", "Failed",  "Unknown"};
  return kWords[static_cast<std::size_t>(phase)];
}

std::string_view restart_word(RestartPolicy policy) {
  constexpr std::string_view kWords[] = {"Always", "OnFailure", "Never"};
  return kWords[static_cast<std::size_t>(policy)];
}

}  // namespace

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  std::vector<FieldTerm> terms;
  for (const std::string_view part : split_terms(text)) {
    if (part.empty()) continue;
    MS_TRY(FieldTerm term, with_context(parse_term(part), "field selector " + quoted(text)));
    terms.push_back(std::move(term));
  }
  return FieldSelector(std::move(terms));
}

Result<void> FieldSelector::check(std::span<const std::string_view> selectable) const {
  for (const FieldTerm& term : terms_) {
    if (std::find(selectable.begin(), selectable.end(), term.field) != selectable.end()) continue;
    return fail(Code::kInvalid, "field label not supported: " + term.field);
  }
  return {};
}

std::string FieldSelector::to_string() const {
  std::string text;
  for (const FieldTerm& term : terms_) {
    if (!text.empty()) text += ',';
    text += term.field;
    text += term.equal ? "=" : "!=";
    for (const char c : term.value) {
      if (c == '\\' || c == ',' || c == '=') text += '\\';
      text += c;
    }
  }
  return text;
}

std::span<const std::string_view> pod_fields() { return kPodFields; }

std::string_view pod_field(const Pod& pod, std::string_view field) {
  if (field == "metadata.name") return pod.meta.name;
  if (field == "metadata.namespace") return pod.meta.ns;
  if (field == "spec.nodeName") return pod.node_name;
  if (field == "spec.restartPolicy") return restart_word(pod.spec->restart_policy);
  if (field == "spec.schedulerName") return pod.spec->scheduler_name;
  if (field == "spec.serviceAccountName") return pod.spec->service_account;
  if (field == "spec.hostNetwork") return pod.spec->host_network ? "true" : "false";
  if (field == "status.phase") return phase_word(pod.status.phase);
  if (field == "status.podIP") return pod.status.pod_ip;
  if (field == "status.nominatedNodeName") return pod.status.nominated_node;
  return {};  // The server accepts status.podIPs and knows no value for it either.
}

}  // namespace mainspring::kube
