// api/validate.h
//
// What the validating webhooks ask of our kinds beyond their schema, as pure functions: the objects
// in, everything that is wrong with them out, all at once, each with its field. What depends on
// other objects (do referenced ConfigMaps exist, what do they hold) is asked by operator/webhook.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/accounting.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/token.h"

namespace mainspring::api {

struct Problem {
  std::string field;    // "spec.clusterName"
  std::string message;  // Names the value and what to do.
};

struct Findings {
  std::vector<Problem> problems;  // Any of them refuses the object.
  std::vector<std::string> warnings;
  bool ok() const { return problems.empty(); }
};

// `before` is null for a new object.
Findings validate(const Controller& after, const Controller* before);
Findings validate(const NodeSet& after, const NodeSet* before);
Findings validate(const LoginSet& after, const LoginSet* before);
Findings validate(const RestApi& after, const RestApi* before);
Findings validate(const Accounting& after, const Accounting* before);
Findings validate(const Token& after, const Token* before);

// The names of files that a configFileRef may bring; others get a warning. slurm.conf and
// slurmdbd.conf are refused: they are generated.
enum class ConfigFile { kKnown, kUnknown, kRefused };
ConfigFile judge_config_file(std::string_view name);

}  // namespace mainspring::api
