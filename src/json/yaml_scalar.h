// json/yaml_scalar.h
//
// What a scalar of YAML without quotes means, by the rules of json/yaml.h. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace mainspring::json {

// kInvalid for what JSON cannot hold: not-a-number, infinities, integers beyond 64 bits in octal,
// hexadecimal or binary.
Result<Value> resolve_plain_scalar(std::string_view text);

}  // namespace mainspring::json
