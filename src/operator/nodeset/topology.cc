#include "operator/nodeset/topology.h"

#include <algorithm>

#include "api/names.h"
#include "base/text.h"

namespace mainspring::op {
namespace {

bool is_name(std::string_view text) {
  constexpr std::string_view kPunctuation = "_-./";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    const char lower = ascii_lower(c);
    return (lower >= 'a' && lower <= 'z') || is_ascii_digit(c) ||
           kPunctuation.find(c) != std::string_view::npos;
  });
}

std::string_view said_by(const kube::Node& node) {
  return node.meta.annotations.find(api::annotation::kTopology).value_or("");
}

}  // namespace

bool is_topology(std::string_view text) {
  constexpr std::size_t kLongest = 1024;  // Slurm has twenty levels at most.
  if (text.size() > kLongest) return false;
  const auto places = split(text, ',');
  return std::all_of(places.begin(), places.end(), [](std::string_view place) {
    const auto names = split(place, ':');
    return std::all_of(names.begin(), names.end(), is_name);
  });
}

std::string_view topology_of(const kube::Node& node) {
  const std::string_view said = said_by(node);
  return is_topology(said) ? said : std::string_view();
}

std::string refused_topology(const kube::Node& node) {
  const std::string_view said = said_by(node);
  return said.empty() || is_topology(said) ? std::string() : quoted(said);
}

}  // namespace mainspring::op
