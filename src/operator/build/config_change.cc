#include "operator/build/config_change.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>

#include "base/digest.h"
#include "base/text.h"
#include "operator/build/etc_files.h"

namespace mainspring::op::build {
namespace {

enum class Shape {
  kValue,
  kOptions,  // A list whose order and case mean nothing.
  kEach,     // Every line adds one, and their order counts.
};

struct RestartKey {
  std::string_view name;
  Shape shape = Shape::kValue;
};

constexpr std::array<RestartKey, 15> kRestartKeys = {{
    // How slurmctld listens, and where it is found.
    {"SlurmctldHost", Shape::kEach},
    {"SlurmctldAddr"},
    {"SlurmctldPort"},
    {"CommunicationParameters", Shape::kOptions},
    {"TLSType"},
    {"TLSParameters", Shape::kOptions},
    // How it knows who speaks to it.
    {"AuthType"},
    {"AuthInfo", Shape::kOptions},
    {"AuthAltTypes", Shape::kOptions},
    {"AuthAltParameters", Shape::kOptions},
    {"CredType"},
    {"HashPlugin"},
    // Who it is.
    {"ClusterName"},
    {"SlurmUser"},
    {"StateSaveLocation"},
}};

constexpr std::array<RestartKey, 13> kRestKeys = {{
    {"AccountingStorageType"},
    {"AccountingStorageHost"},
    {"AccountingStorageBackupHost"},
    {"AccountingStorageExternalHost"},
    {"AccountingStoragePort"},
    {"AccountingStoragePass"},
    {"AccountingStorageParameters", Shape::kOptions},
    {"CliFilterPlugins", Shape::kOptions},
    {"DataParserParameters"},
    {"HttpParserType"},
    {"MessageTimeout"},
    {"TCPTimeout"},
    {"UrlParserType"},
}};

std::string normal_options(std::string_view value) {
  std::set<std::string> options;
  for (const std::string_view piece : split(value, ',')) {
    std::string option(trim(piece));
    std::transform(option.begin(), option.end(), option.begin(), ascii_lower);
    if (!option.empty()) options.insert(std::move(option));
  }
  const std::vector<std::string> sorted(options.begin(), options.end());
  return join(sorted, ",");
}

std::string value_of(const slurm::ConfFile& conf, const RestartKey& key) {
  std::string value;
  for (const slurm::ConfLine& line : conf.lines) {
    if (!equals_ignore_case(line.key(), key.name)) continue;
    if (key.shape == Shape::kEach) {
      value += line.value() + "\n";
    } else {
      value = line.value();
    }
  }
  return key.shape == Shape::kOptions ? normal_options(value) : value;
}

std::string settings_of(const slurm::ConfFile& conf, std::span<const RestartKey> keys) {
  std::string settings;
  for (const RestartKey& key : keys) {
    settings += std::string(key.name) + "=" + value_of(conf, key) + "\n";
  }
  return settings;
}

}  // namespace

std::string restart_hash(const std::map<std::string, std::string>& files) {
  return hex_encode(sha256(settings_of(read_slurm_conf(files), kRestartKeys)));
}

std::string rest_hash(const std::map<std::string, std::string>& files) {
  const slurm::ConfFile conf = read_slurm_conf(files);
  return hex_encode(sha256(settings_of(conf, kRestartKeys) + settings_of(conf, kRestKeys)));
}

}  // namespace mainspring::op::build
