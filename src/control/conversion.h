// control/conversion.h
//
// Conversion webhooks: the API server stores a custom resource in one version and serves it in all;
// we say how one becomes the other. Reads ConversionReview of apiextensions.k8s.io/v1.
//
// Each conversion is a pure function from object to object; losing nothing on the way there and
// back is its author's part. apiVersion is set here. Either all objects of a review are converted
// or the answer is a failure that names the one that could not be. Runs on the server's loop.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "http/router.h"
#include "json/value.h"

namespace mainspring::control {

class Converter {
 public:
  using Convert = std::function<Result<json::Value>(json::Value)>;

  // By apiVersion: add("slinky.slurm.net/v1alpha1", "slinky.slurm.net/v1beta1", ...).
  Converter& add(std::string from, std::string to, Convert convert);

  // As it is where it has that version already. kUnsupported where nobody knows how.
  Result<json::Value> convert(json::Value object, const std::string& to) const;

  // A ConversionReview in, one out. kInvalid for what is no review; a conversion that fails is part
  // of the answer.
  Result<std::string> answer(std::string_view body) const;

 private:
  std::map<std::pair<std::string, std::string>, Convert> conversions_;
};

void add_conversion(http::Router& router, std::string_view path, Converter converter);

}  // namespace mainspring::control
