#include "api/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace mainspring::api {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

bool has_control(std::string_view text, std::string_view except) {
  return std::any_of(text.begin(), text.end(), [&](char c) {
    return is_control(c) && except.find(c) == std::string_view::npos;
  });
}

bool is_key_name(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) {
    return is_ascii_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

void Checks::refuse(std::string field, std::string message) {
  findings_.problems.push_back({std::move(field), std::move(message)});
}

void Checks::warn(std::string text) { findings_.warnings.push_back(std::move(text)); }

void Checks::name(const std::string& field, std::string_view value) {
  if (value.empty() || is_dns1123_subdomain(value)) return;
  if (value.find('/') != std::string_view::npos) {
    return refuse(field,
                  fmt::format("{} names another namespace: only objects of this namespace can "
                              "be referred to, use the bare name",
                              quoted(value)));
  }
  refuse(field, fmt::format("{} cannot be the name of an object: use lower case letters, digits, "
                            "dashes and dots",
                            quoted(value)));
}

void Checks::required_name(const std::string& field, std::string_view value) {
  if (value.empty()) return refuse(field, "is empty: set it to the name of an object");
  name(field, value);
}

void Checks::key_ref(const std::string& field, const KeyRef& ref) {
  name(field + ".name", ref.name);
  if (!is_key_name(ref.key)) {
    refuse(field + ".key", fmt::format("{} cannot be a key: use letters, digits, dashes, dots and "
                                       "underscores",
                                       quoted(ref.key)));
  }
}

void Checks::key_ref(const std::string& field, const std::optional<KeyRef>& ref) {
  if (ref) key_ref(field, *ref);
}

void Checks::name_refs(const std::string& field, const std::vector<NameRef>& refs) {
  for (std::size_t i = 0; i < refs.size(); ++i) {
    required_name(fmt::format("{}[{}].name", field, i), refs[i].name);
  }
}

void Checks::word(const std::string& field, std::string_view value) {
  if (!has_control(value, "") && value.find_first_of(" \"'\\#") == std::string_view::npos) return;
  refuse(field,
         fmt::format("{} has blanks, quotes, backslashes, # or control characters: it must be "
                     "one plain word",
                     quoted(value)));
}

void Checks::line(const std::string& field, std::string_view value) {
  if (has_control(value, "\t")) {
    return refuse(field,
                  fmt::format("{} has line breaks or control characters: write it as one line "
                              "of plain text",
                              quoted(value)));
  }
  if (value.find_first_of("\\#") != std::string_view::npos) {
    refuse(field, fmt::format("{} has a backslash or a #, which would join or cut lines of the "
                              "configuration: leave it out",
                              quoted(value)));
  }
}

void Checks::text(const std::string& field, std::string_view value) {
  const auto bad = std::find_if(value.begin(), value.end(), [](char c) {
    return has_control({&c, 1}, "\t\r\n");
  });
  if (bad == value.end()) return;
  const auto line = 1 + std::count(value.begin(), bad, '\n');
  refuse(field,
         fmt::format("line {} has a control character ({}): remove it", line, quoted({&*bad, 1})));
}

void Checks::port(const std::string& field, std::int32_t value, bool may_default) {
  constexpr std::int32_t kMost = 65535;
  if (value > kMost || value < 0 || (value == 0 && !may_default)) {
    refuse(field, fmt::format("{} is not a port: use 1 to {}", value, kMost));
  }
}

void Checks::not_negative(const std::string& field, std::int32_t value) {
  if (value < 0) refuse(field, fmt::format("{} is negative: use 0 or more", value));
}

void Checks::address(const std::string& field, const std::optional<ExternalAddress>& address) {
  if (!address) return;
  if (address->host.empty()) refuse(field + ".host", "is empty: set it to a host name or address");
  word(field + ".host", address->host);
  port(field + ".port", address->port, false);
}

void Checks::service(const ServiceTemplate& service) {
  port("spec.service.port", service.port, true);
  port("spec.service.nodePort", service.node_port, true);
  const json::Value* const addresses = service.spec.find("externalIPs");
  if (addresses != nullptr && !addresses->empty()) {
    warn(
        "spec.service.spec.externalIPs is ignored, because any address could be claimed by it "
        "(CVE-2020-8554): use a Service of type LoadBalancer or NodePort");
  }
}

void Checks::immutable(const std::string& field, std::string_view before, std::string_view after) {
  if (before == after) return;
  refuse(field, fmt::format("cannot change from {} to {}: put it back, or make a new object",
                            quoted(before), quoted(after)));
}

void Checks::immutable_key(const std::string& field, const KeyRef* before, const KeyRef* after) {
  if (before == nullptr) return;
  const auto shown = [](const KeyRef* ref) {
    return ref == nullptr ? std::string() : ref->name + "/" + ref->key;
  };
  immutable(field, shown(before), shown(after));
}

void Checks::forgive(const Findings& before) {
  std::erase_if(findings_.problems, [&](const Problem& problem) {
    return std::any_of(before.problems.begin(), before.problems.end(), [&](const Problem& old) {
      return old.field == problem.field && old.message == problem.message;
    });
  });
}

}  // namespace mainspring::api
