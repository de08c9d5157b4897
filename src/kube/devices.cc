#include "kube/devices.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mainspring::kube {

namespace {

void read_selectors(json::Reader& reader, Seq<Text>& out) {
  std::vector<Text> expressions;
  reader.array([&] {
    reader.object([&](std::string_view language) {
      if (language != "cel") return;
      reader.object([&](std::string_view key) {
        if (key == "expression") read(reader, expressions.emplace_back());
      });
    });
  });
  out = std::move(expressions);
}

// What "exactly" and each of "firstAvailable" hold.
bool read_exact(json::Reader& reader, DeviceRequest& out) {
  return reader.object([&](std::string_view key) {
    if (key == "name") {
      read(reader, out.name);
    } else if (key == "deviceClassName") {
      read(reader, out.device_class);
    } else if (key == "selectors") {
      read_selectors(reader, out.selectors);
    } else if (key == "count") {
      reader.read(out.count);
    } else if (key == "adminAccess") {
      reader.read(out.admin_access);
    } else if (key == "allocationMode") {
      std::string_view mode;
      if (reader.read(mode)) out.all = mode == "All";
    }
  });
}

void read_request(json::Reader& reader, std::vector<DeviceRequest>& out) {
  Text name;
  std::vector<DeviceRequest> alternatives;
  const std::size_t first = out.size();
  reader.object([&](std::string_view key) {
    if (key == "name") {
      read(reader, name);
    } else if (key == "exactly") {
      DeviceRequest request;
      if (read_exact(reader, request)) out.push_back(std::move(request));
    } else if (key == "firstAvailable") {
      reader.array([&] { read_exact(reader, alternatives.emplace_back()); });
    }
  });
  for (std::size_t i = first; i < out.size(); ++i) out[i].name = name;
  for (DeviceRequest& alternative : alternatives) {
    alternative.name = name.str() + "/" + alternative.name.str();
    out.push_back(std::move(alternative));
  }
}

void read_attribute(json::Reader& reader, DeviceAttribute& out) {
  using Kind = DeviceAttribute::Kind;
  reader.object([&](std::string_view type) {
    if (type == "string" || type == "version") {
      if (read(reader, out.text)) out.kind = type == "string" ? Kind::kString : Kind::kVersion;
    } else if (type == "int") {
      if (reader.read(out.number)) out.kind = Kind::kInt;
    } else if (type == "bool") {
      bool value = false;
      if (!reader.read(value)) return;
      out.number = value ? 1 : 0;
      out.kind = Kind::kBool;
    }
  });
}

void read_attributes(json::Reader& reader, Device& out) {
  std::vector<DeviceAttribute> attributes;
  reader.object([&](std::string_view name) {
    attributes.emplace_back().name = name;
    read_attribute(reader, attributes.back());
  });
  out.attributes = std::move(attributes);
}

void read_capacity(json::Reader& reader, Device& out) {
  std::vector<json::StringMap::Member> amounts;
  reader.object([&](std::string_view name) {
    std::string_view amount;
    reader.object([&](std::string_view key) {
      if (key == "value") reader.read(amount);
    });
    amounts.emplace_back(name, amount);
  });
  out.capacity = Quantities(json::StringMap(amounts));
}

}  // namespace

bool read(json::Reader& reader, DeviceClaimSpec& out) {
  std::vector<DeviceRequest> requests;
  const bool whole = reader.object([&](std::string_view key) {
    std::string_view text;
    if (key == "requests") {
      reader.array([&] { read_request(reader, requests); });
    } else if (key == "constraints") {
      if (reader.raw(text)) out.constraints = text;
    } else if (key == "config") {
      if (reader.raw(text)) out.config = text;
    }
  });
  out.requests = std::move(requests);
  return whole;
}

bool read(json::Reader& reader, Device& out) {
  static constexpr auto kFields = json::fields(
      json::field("name", &Device::name), json::field("attributes", &read_attributes),
      json::field("capacity", &read_capacity), json::field("taints", &Device::taints),
      json::field("nodeName", &Device::node_name), json::field("nodeSelector", &Device::nodes),
      json::field("allNodes", &Device::all_nodes),
      json::field("allowMultipleAllocations", &Device::shareable),
      non_empty_field<&Device::consumes_counters>("consumesCounters"));
  return json::read_fields<kFields>(reader, out);
}

bool read(json::Reader& reader, DeviceClass& out) {
  static constexpr auto kFields = json::fields(
      json::field("metadata", &DeviceClass::meta),
      json::group("spec",
                  json::field("selectors", [](json::Reader& r,
                                              DeviceClass& c) { read_selectors(r, c.selectors); }),
                  json::field("extendedResourceName", &DeviceClass::extended_resource)));
  return json::read_fields<kFields>(reader, out);
}

const DeviceAttribute* Device::attribute(std::string_view attribute_name) const {
  const auto* const found =
      std::find_if(attributes.begin(), attributes.end(),
                   [&](const DeviceAttribute& a) { return a.name == attribute_name; });
  return found == attributes.end() ? nullptr : found;
}

}  // namespace mainspring::kube
