#include "kube/meta.h"

#include <algorithm>
#include <vector>

#include "base/rfc3339.h"

namespace mainspring::kube {

namespace {

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

}  // namespace

std::string_view OwnerReference::group() const {
  const auto slash = api_version.find('/');
  return std::string_view(api_version).substr(0, slash == std::string::npos ? 0 : slash);
}

bool Meta::has_finalizer(std::string_view finalizer) const {
  return std::find(finalizers.begin(), finalizers.end(), finalizer) != finalizers.end();
}

const OwnerReference* Meta::controller() const {
  const auto* const found = std::find_if(
      owners.begin(), owners.end(), [](const OwnerReference& owner) { return owner.controller; });
  return found == owners.end() ? nullptr : found;
}

void Meta::share_with(const Meta& earlier) {
  share_equal(labels, earlier.labels);
  share_equal(annotations, earlier.annotations);
  share_equal(owners, earlier.owners);
  share_equal(finalizers, earlier.finalizers);
}

bool Meta::operator==(const Meta& other) const {
  return name == other.name && ns == other.ns && uid == other.uid &&
         generation == other.generation && created == other.created && deletion == other.deletion &&
         deletion_grace_seconds == other.deletion_grace_seconds && labels == other.labels &&
         annotations == other.annotations && owners == other.owners &&
         finalizers == other.finalizers;
}

bool read_time(json::Reader& reader, WallTime& out) {
  std::string_view text;
  if (!reader.read(text)) return false;
  Result<WallTime> time = parse_rfc3339(text);
  if (!time) {
    reader.refuse(time.error().message());
    return false;
  }
  out = *time;
  return true;
}

bool read_time(json::Reader& reader, std::optional<WallTime>& out) {
  WallTime time;
  if (!read_time(reader, time)) return false;
  out = time;
  return true;
}

namespace detail {

void read_created(json::Reader& reader, Meta& meta) { read_time(reader, meta.created); }

void read_deletion(json::Reader& reader, Meta& meta) { read_time(reader, meta.deletion); }

void read_labels(json::Reader& reader, Meta& meta) {
  json::read(reader, meta.labels);
  share_equal(meta.labels);
}

void read_annotations(json::Reader& reader, Meta& meta) {
  std::vector<json::StringMap::Member> members;
  reader.object([&](std::string_view key) {
    if (key == kLastApplied) return;
    std::string_view value;
    reader.read(value);
    members.emplace_back(key, value);
  });
  meta.annotations = json::StringMap(members);
}

void read_owners(json::Reader& reader, Meta& meta) {
  read(reader, meta.owners);
  share_equal(meta.owners);
}

void read_finalizers(json::Reader& reader, Meta& meta) {
  read(reader, meta.finalizers);
  share_equal(meta.finalizers);
}

}  // namespace detail

}  // namespace mainspring::kube
