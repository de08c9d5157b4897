#include "bridge/translate/ownership.h"

#include <algorithm>
#include <set>

#include "json/fields.h"
#include "json/value.h"

namespace mainspring::bridge {

constexpr auto json_fields(json::Tag<JobOwners>) {
  return json::fields(json::field("pods", &JobOwners::pods), json::field("uids", &JobOwners::uids),
                      json::field("cluster", &JobOwners::cluster),
                      json::field("parts", &JobOwners::parts),
                      json::field("asked", &JobOwners::asked));
}

namespace {

bool is_pod_key(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < text.size() &&
         text.find('/', slash + 1) == std::string_view::npos;
}

bool is_sound(const JobOwners& owners) {
  if (owners.pods.empty()) return false;
  if (!std::all_of(owners.pods.begin(), owners.pods.end(), is_pod_key)) return false;
  if (owners.uids.empty()) return owners.parts.empty();
  if (!owners.parts.empty() && owners.parts.size() != owners.uids.size()) return false;
  if (std::any_of(owners.parts.begin(), owners.parts.end(), [](auto part) { return part < 0; })) {
    return false;
  }
  return owners.uids.size() == owners.pods.size() &&
         std::none_of(owners.uids.begin(), owners.uids.end(),
                      [](const std::string& uid) { return uid.empty(); });
}

json::Value to_list(const std::vector<std::string>& items) {
  json::Value list = json::Value::array();
  list.reserve(items.size());
  for (const std::string& item : items) list.push_back(item);
  return list;
}

}  // namespace

JobOwners owners_of(std::span<const PodPtr> pods) {
  JobOwners owners;
  owners.pods.reserve(pods.size());
  owners.uids.reserve(pods.size());
  for (const PodPtr& pod : pods) {
    owners.pods.push_back(pod->meta.ns + "/" + pod->meta.name);
    owners.uids.push_back(pod->meta.uid);
  }
  return owners;
}

std::optional<std::int32_t> part_of(const JobOwners& owners, std::string_view uid) {
  const auto at = std::find(owners.uids.begin(), owners.uids.end(), uid);
  if (at == owners.uids.end()) return std::nullopt;
  if (owners.parts.empty()) return 0;
  return owners.parts[static_cast<std::size_t>(at - owners.uids.begin())];
}

JobOwners only(const JobOwners& owners, std::span<const std::string> uids) {
  const std::set<std::string_view> stay(uids.begin(), uids.end());
  JobOwners out;
  out.cluster = owners.cluster;
  out.asked = owners.asked;
  for (std::size_t i = 0; i < owners.uids.size(); ++i) {
    if (!stay.contains(owners.uids[i])) continue;
    out.pods.push_back(owners.pods[i]);
    out.uids.push_back(owners.uids[i]);
    if (!owners.parts.empty()) out.parts.push_back(owners.parts[i]);
  }
  return out;
}

std::string to_admin_comment(const JobOwners& owners) {
  json::Value comment = json::Value::object();
  comment.set("pods", to_list(owners.pods));
  if (!owners.uids.empty()) comment.set("uids", to_list(owners.uids));
  if (!owners.cluster.empty()) comment.set("cluster", owners.cluster);
  if (!owners.parts.empty()) {
    json::Value parts = json::Value::array();
    for (const std::int32_t part : owners.parts) parts.push_back(part);
    comment.set("parts", std::move(parts));
  }
  if (!owners.asked.empty()) comment.set("asked", owners.asked);
  return json::to_text(comment);
}

std::optional<JobOwners> parse_admin_comment(std::string_view comment) {
  // Most jobs of a cluster are other people's and have no comment, or one in prose.
  if (!comment.starts_with('{')) return std::nullopt;
  json::Reader reader;
  auto owners = json::decode<JobOwners>(reader, comment);
  if (!owners || !is_sound(*owners)) return std::nullopt;
  return *std::move(owners);
}

void admin_comment_keys(std::string_view comment, std::vector<std::string>& keys) {
  auto owners = parse_admin_comment(comment);
  if (!owners) return;
  for (std::string& key : owners->uids.empty() ? owners->pods : owners->uids) {
    keys.push_back(std::move(key));
  }
}

}  // namespace mainspring::bridge
