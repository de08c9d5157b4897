#include "kube/discovery.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "http/url.h"
#include "json/fields.h"

namespace mainspring::kube {
namespace {

constexpr const char* kAccept =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json";

// An aggregated API whose server is away answers 503 for as long as that lasts; one such group must
// not use up the time of all.
constexpr Duration kPatience = seconds(5);

bool contains(const std::vector<std::string>& list, std::string_view wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

}  // namespace

// The aggregated documents (apidiscovery.k8s.io), read straight into the values above.
constexpr auto json_fields(json::Tag<DiscoveredSubresource>) {
  return json::fields(
      json::field("subresource", &DiscoveredSubresource::name),
      json::group("responseKind", json::field("kind", &DiscoveredSubresource::kind)),
      json::field("verbs", &DiscoveredSubresource::verbs));
}

constexpr auto json_fields(json::Tag<DiscoveredResource>) {
  return json::fields(
      json::field("resource",
                  [](json::Reader& r, DiscoveredResource& out) { r.read(out.resource.plural); }),
      json::group("responseKind",
                  json::field("kind", [](json::Reader& r,
                                         DiscoveredResource& out) { r.read(out.resource.kind); })),
      json::field("scope",
                  [](json::Reader& r, DiscoveredResource& out) {
                    std::string_view scope;
                    if (r.read(scope)) out.resource.namespaced = scope == "Namespaced";
                  }),
      json::field("singularResource", &DiscoveredResource::singular),
      json::field("shortNames", &DiscoveredResource::short_names),
      json::field("categories", &DiscoveredResource::categories),
      json::field("verbs", &DiscoveredResource::verbs),
      json::field("subresources", &DiscoveredResource::subresources));
}

constexpr auto json_fields(json::Tag<DiscoveredVersion>) {
  return json::fields(json::field("version", &DiscoveredVersion::version),
                      json::field("freshness",
                                  [](json::Reader& r, DiscoveredVersion& out) {
                                    std::string_view freshness;
                                    if (r.read(freshness)) out.stale = freshness == "Stale";
                                  }),
                      json::field("resources", &DiscoveredVersion::resources));
}

constexpr auto json_fields(json::Tag<DiscoveredGroup>) {
  return json::fields(json::group("metadata", json::field("name", &DiscoveredGroup::name)),
                      json::field("versions", &DiscoveredGroup::versions));
}

namespace {

// The older documents: APIVersions, APIGroupList and APIResourceList.
struct PlainGroup {
  struct Version {
    std::string version;
  };
  std::string name;
  std::string preferred;
  std::vector<Version> versions;
};

constexpr auto json_fields(json::Tag<PlainGroup::Version>) {
  return json::fields(json::field("version", &PlainGroup::Version::version));
}
constexpr auto json_fields(json::Tag<PlainGroup>) {
  return json::fields(
      json::field("name", &PlainGroup::name), json::field("versions", &PlainGroup::versions),
      json::group("preferredVersion", json::field("version", &PlainGroup::preferred)));
}

struct Document {
  std::string kind;
  std::vector<DiscoveredGroup> items;
  std::vector<std::string> versions;
  std::vector<PlainGroup> groups;
};

constexpr auto json_fields(json::Tag<Document>) {
  return json::fields(json::field("kind", &Document::kind), json::field("items", &Document::items),
                      json::field("versions", &Document::versions),
                      json::field("groups", &Document::groups));
}

struct PlainResource {
  std::string name;  // "pods" or "pods/status"
  std::string singular;
  std::string kind;
  bool namespaced = false;
  std::vector<std::string> verbs;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
};

constexpr auto json_fields(json::Tag<PlainResource>) {
  return json::fields(json::field("name", &PlainResource::name),
                      json::field("singularName", &PlainResource::singular),
                      json::field("kind", &PlainResource::kind),
                      json::field("namespaced", &PlainResource::namespaced),
                      json::field("verbs", &PlainResource::verbs),
                      json::field("shortNames", &PlainResource::short_names),
                      json::field("categories", &PlainResource::categories));
}

struct PlainResourceList {
  std::vector<PlainResource> resources;
};

constexpr auto json_fields(json::Tag<PlainResourceList>) {
  return json::fields(json::field("resources", &PlainResourceList::resources));
}

struct VersionDocument {
  std::string major;
  std::string minor;
  std::string git_version;
  std::string platform;
};

constexpr auto json_fields(json::Tag<VersionDocument>) {
  return json::fields(json::field("major", &VersionDocument::major),
                      json::field("minor", &VersionDocument::minor),
                      json::field("gitVersion", &VersionDocument::git_version),
                      json::field("platform", &VersionDocument::platform));
}

DiscoveredVersion unknown_version(std::string version) {
  return DiscoveredVersion{std::move(version), true, {}};
}

DiscoveredGroup from_plain(PlainGroup plain) {
  DiscoveredGroup group{std::move(plain.name), {}};
  for (auto& version : plain.versions) {
    group.versions.push_back(unknown_version(std::move(version.version)));
  }
  // Listed in the server's order, which the preferred one leads unless an APIService says
  // otherwise.
  std::stable_partition(
      group.versions.begin(), group.versions.end(),
      [&plain](const DiscoveredVersion& version) { return version.version == plain.preferred; });
  return group;
}

// The documents name group and version once, around the resources.
void name_resources(DiscoveredGroup& group) {
  for (DiscoveredVersion& version : group.versions) {
    for (DiscoveredResource& resource : version.resources) {
      resource.resource.group = group.name;
      resource.resource.version = version.version;
    }
  }
}

// Go's servers write "36", and some builds "36+".
Result<int> version_number(std::string_view text) {
  return parse_integer<int>(text.substr(0, text.find_first_not_of("0123456789")));
}

Task<Result<std::string>> fetch(Client* client, std::string path, Duration timeout) {
  Call call;
  call.path = std::move(path);
  call.what = "discovery of " + call.path;
  call.accept = kAccept;
  call.timeout = timeout;
  MS_CO_TRY(http::Response response, co_await client->send(std::move(call)));
  co_return std::move(response.body);
}

Task<Result<void>> fetch_version(Client* client, std::string root, std::string group,
                                 DiscoveredVersion* version) {
  auto text =
      co_await fetch(client, root + "/" + http::percent_encode(version->version), kPatience);
  if (!text) {
    // Of a version that does not answer only its name is known; it stays stale.
    const Code code = text.error().code();
    if (code == Code::kCancelled) co_return fail(std::move(text).error());
    co_return Result<void>();
  }
  co_return parse_resource_list(*text, group, *version);
}

Task<Result<void>> add_groups(Client* client, std::string root, std::vector<DiscoveredGroup>* out) {
  MS_CO_TRY(const std::string text, co_await fetch(client, root, client->options().timeout));
  MS_CO_TRY(DiscoveryDocument document, with_context(parse_discovery(text), root));
  for (DiscoveredGroup& group : document.groups) {
    for (DiscoveredVersion& version : group.versions) {
      if (document.aggregated) break;
      const std::string base =
          group.name.empty() ? root : root + "/" + http::percent_encode(group.name);
      MS_CO_CHECK(co_await fetch_version(client, base, group.name, &version));
    }
    out->push_back(std::move(group));
  }
  co_return Result<void>();
}

}  // namespace

bool DiscoveredResource::can(std::string_view verb) const { return contains(verbs, verb); }

const DiscoveredSubresource* DiscoveredResource::subresource(std::string_view name) const {
  const auto found = std::find_if(subresources.begin(), subresources.end(),
                                  [name](const auto& each) { return each.name == name; });
  return found == subresources.end() ? nullptr : &*found;
}

const DiscoveredGroup* Discovery::group(std::string_view name) const {
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [name](const auto& each) { return each.name == name; });
  return found == groups_.end() ? nullptr : &*found;
}

namespace {

template <class Wanted>
const DiscoveredResource* first_in(const DiscoveredGroup* group, Wanted wanted) {
  if (group == nullptr) return nullptr;
  for (const DiscoveredVersion& version : group->versions) {
    for (const DiscoveredResource& resource : version.resources) {
      if (wanted(resource.resource)) return &resource;
    }
  }
  return nullptr;
}

}  // namespace

const DiscoveredResource* Discovery::find(std::string_view group_name,
                                          std::string_view plural) const {
  return first_in(group(group_name),
                  [plural](const Resource& each) { return each.plural == plural; });
}

const DiscoveredResource* Discovery::preferred(std::string_view group_name,
                                               std::string_view kind) const {
  return first_in(group(group_name), [kind](const Resource& each) { return each.kind == kind; });
}

bool Discovery::serves(std::string_view group_name, std::string_view version,
                       std::string_view plural) const {
  return first_in(group(group_name), [version, plural](const Resource& each) {
           return each.version == version && each.plural == plural;
         }) != nullptr;
}

bool Discovery::complete(std::string_view group_name) const {
  const DiscoveredGroup* found = group(group_name);
  return found == nullptr || std::none_of(found->versions.begin(), found->versions.end(),
                                          [](const auto& version) { return version.stale; });
}

Result<DiscoveryDocument> parse_discovery(std::string_view text) {
  json::Reader reader;
  MS_TRY(Document document, json::decode<Document>(reader, text));
  DiscoveryDocument out;
  if (document.kind == "APIGroupDiscoveryList") {
    out.aggregated = true;
    out.groups = std::move(document.items);
    for (DiscoveredGroup& group : out.groups) name_resources(group);
  } else if (document.kind == "APIVersions") {
    DiscoveredGroup& core = out.groups.emplace_back();
    for (auto& version : document.versions) {
      core.versions.push_back(unknown_version(std::move(version)));
    }
  } else if (document.kind == "APIGroupList") {
    for (auto& group : document.groups) out.groups.push_back(from_plain(std::move(group)));
  } else {
    return fail(Code::kInvalid,
                fmt::format("not a discovery document: its kind is {}", quoted(document.kind)));
  }
  return out;
}

Result<void> parse_resource_list(std::string_view text, std::string_view group,
                                 DiscoveredVersion& into) {
  json::Reader reader;
  MS_TRY(PlainResourceList list, json::decode<PlainResourceList>(reader, text));
  std::vector<DiscoveredResource> found;
  for (PlainResource& each : list.resources) {
    const std::size_t slash = each.name.find('/');
    if (slash != std::string::npos) continue;
    DiscoveredResource& resource = found.emplace_back();
    resource.resource = {std::string(group), into.version, std::move(each.name),
                         std::move(each.kind), each.namespaced};
    resource.singular = std::move(each.singular);
    resource.short_names = std::move(each.short_names);
    resource.categories = std::move(each.categories);
    resource.verbs = std::move(each.verbs);
  }
  // A second time for what stands under the first, for the list is in no order.
  for (PlainResource& each : list.resources) {
    const std::size_t slash = each.name.find('/');
    if (slash == std::string::npos) continue;
    const std::string_view parent = std::string_view(each.name).substr(0, slash);
    for (DiscoveredResource& resource : found) {
      if (resource.resource.plural != parent) continue;
      resource.subresources.push_back(
          {each.name.substr(slash + 1), std::move(each.kind), std::move(each.verbs)});
      break;
    }
  }
  into.resources = std::move(found);
  into.stale = false;
  return {};
}

Result<ServerVersion> parse_server_version(std::string_view text) {
  json::Reader reader;
  MS_TRY(VersionDocument document, json::decode<VersionDocument>(reader, text));
  ServerVersion version;
  MS_TRY(version.major, with_context(version_number(document.major), "major"));
  MS_TRY(version.minor, with_context(version_number(document.minor), "minor"));
  version.git_version = std::move(document.git_version);
  version.platform = std::move(document.platform);
  return version;
}

Task<Result<Discovery>> discover(Client* client) {
  std::vector<DiscoveredGroup> groups;
  MS_CO_CHECK(co_await add_groups(client, "/api", &groups));
  MS_CO_CHECK(co_await add_groups(client, "/apis", &groups));
  co_return Discovery(std::move(groups));
}

Task<Result<ServerVersion>> server_version(Client* client) {
  Call call;
  call.path = "/version";
  call.what = "reading the version of the API server";
  MS_CO_TRY(const http::Response response, co_await client->send(std::move(call)));
  co_return with_context(parse_server_version(response.body), "/version");
}

}  // namespace mainspring::kube
