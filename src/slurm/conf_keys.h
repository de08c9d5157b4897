// slurm/conf_keys.h
//
// Which keys Slurm's files may have, in which release, and what their values must look like: one
// table for each file and for each kind of line that holds several pairs. Facts of Slurm 24.11 to
// 26.05; the next release is a few changed rows.
//
// Constants and pure functions. What several keys mean together is not here: see slurm/conf_lint.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mainspring::slurm {

// A Slurm release as one number: 26.05 is 2605.
using Release = std::uint16_t;
inline constexpr Release kOldestRelease = 2411;
inline constexpr Release kNewestRelease = 2605;

enum class ConfType : std::uint8_t {
  kText,
  kBool,    // yes no true false up down 1 0
  kUint16,  // also UNLIMITED and INFINITE; 0x10 and 010 as in C
  kUint32,  // and with a K behind it
  kUint64,
  kFloat,
  kTime,      // minutes, minutes:seconds, hours:minutes:seconds, days-hours...
  kSeconds,   // or NONE, INFINITE, -1
  kPeriod,    // 12months, 30days, 24hours
  kLogLevel,  // quiet to debug5, or a number
  kPort,      // or a range of them
  kChoice,    // one of `choices`
  kChoices,   // some of `choices`, with commas
  kPrefix,    // begins with one of `choices`
  kPlugin,    // kind/name, `choices` is the kind
  kPlugins,   // some, with commas; the kind may be left out
  kPath,      // absolute
  kPaths,     // absolute ones, with commas
  kHosts,     // a hostlist
  kWeights,   // cpu=1.5,mem=0.25G
  kLicenses,  // name:count, with commas
};

// What a key is, beyond its value.
enum class ConfUse : std::uint8_t {
  kOnce,     // if it comes again the last one counts, and Slurm complains
  kRepeats,  // each adds one
  kLine,     // each adds one, described by the pairs that follow on the line
  kIgnored,  // known and without effect; Slurm complains
  kRefused,  // known and no longer allowed: Slurm stops
};

struct ConfKey {
  std::string_view name;
  ConfType type = ConfType::kText;
  ConfUse use = ConfUse::kOnce;
  bool tolerant = false;  // a bad value is ignored; Slurm goes on
  std::string_view choices = {};
  std::string_view instead = {};  // what to use in its place
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  Release since = kOldestRelease;
  Release until = kNewestRelease;  // the last release that takes it

  // For writing tables.
  constexpr ConfKey of(std::string_view value) const {
    ConfKey key = *this;
    key.choices = value;
    return key;
  }
  constexpr ConfKey at_least(std::uint64_t value) const {
    ConfKey key = *this;
    key.min = value;
    return key;
  }
  constexpr ConfKey at_most(std::uint64_t value) const {
    ConfKey key = *this;
    key.max = value;
    return key;
  }
  constexpr ConfKey from(Release value) const {
    ConfKey key = *this;
    key.since = value;
    return key;
  }
  constexpr ConfKey till(Release value) const {
    ConfKey key = *this;
    key.until = value;
    return key;
  }
  constexpr ConfKey or_ignored() const {
    ConfKey key = *this;
    key.tolerant = true;
    return key;
  }
  constexpr ConfKey used(ConfUse value) const {
    ConfKey key = *this;
    key.use = value;
    return key;
  }
  constexpr ConfKey better(std::string_view value) const {
    ConfKey key = *this;
    key.instead = value;
    return key;
  }
};

constexpr ConfKey conf_key(std::string_view name, ConfType type = ConfType::kText) {
  return {.name = name, .type = type};
}

// The keys that may stand first on a line of the file, sorted by name. Empty for other files.
std::span<const ConfKey> conf_keys(std::string_view file);

// The keys that may follow `first`, which is of kind kLine in that file.
std::span<const ConfKey> conf_line_keys(std::string_view file, std::string_view first);

// By name, in any case; null if there is none.
const ConfKey* find_conf_key(std::span<const ConfKey> keys, std::string_view name);

// The key that a misspelled one is most likely meant to be; empty if none is near.
std::string_view nearest_conf_key(std::span<const ConfKey> keys, std::string_view name);

// The plugins of a kind that Slurm has in that release, as "a,b,c"; empty for an unknown kind.
std::string plugins_of(std::string_view kind, Release release);

}  // namespace mainspring::slurm
