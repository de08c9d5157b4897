#include "control/conversion.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/text.h"
#include "control/admission.h"
#include "json/fields.h"

namespace mainspring::control {

using json::Value;

namespace {

struct ConversionRequest {
  std::string uid;
  std::string desired;
  std::vector<Value> objects;
};

constexpr auto json_fields(json::Tag<ConversionRequest>) {
  return json::fields(json::field("uid", &ConversionRequest::uid),
                      json::field("desiredAPIVersion", &ConversionRequest::desired),
                      json::field("objects", [](json::Reader& reader, ConversionRequest& out) {
                        reader.array([&] { read(reader, out.objects.emplace_back()); });
                      }));
}

struct WireReview {
  std::string api_version;
  std::string kind;
  std::optional<ConversionRequest> request;
};

constexpr auto json_fields(json::Tag<WireReview>) {
  return json::fields(json::field("apiVersion", &WireReview::api_version),
                      json::field("kind", &WireReview::kind),
                      json::field("request", &WireReview::request));
}

Result<ConversionRequest> read_review(std::string_view body) {
  json::Reader reader;
  MS_TRY(WireReview review,
         with_context(json::decode<WireReview>(reader, body), "reading a ConversionReview"));
  if (review.kind != "ConversionReview" || review.api_version != "apiextensions.k8s.io/v1") {
    return fail(Code::kInvalid,
                fmt::format("expected a ConversionReview of apiextensions.k8s.io/v1, got kind {} "
                            "of {}",
                            quoted(review.kind), quoted(review.api_version)));
  }
  if (!review.request) return fail(Code::kInvalid, "ConversionReview: request is missing");
  if (review.request->uid.empty()) {
    return fail(Code::kInvalid, "ConversionReview: request.uid is missing");
  }
  if (review.request->desired.empty()) {
    return fail(Code::kInvalid, "ConversionReview: request.desiredAPIVersion is missing");
  }
  return *std::move(review.request);
}

std::string text_at(const Value& object, std::string_view pointer) {
  const Value* found = object.at_pointer(pointer);
  return std::string(found == nullptr ? "" : found->as_string().value_or(""));
}

// "NodeSet slurm/gpu"
std::string name_of(const Value& object) {
  const std::string ns = text_at(object, "/metadata/namespace");
  return fmt::format("{} {}{}", sanitize_utf8(text_at(object, "/kind")), ns.empty() ? "" : ns + "/",
                     text_at(object, "/metadata/name"));
}

}  // namespace

Converter& Converter::add(std::string from, std::string to, Convert convert) {
  conversions_.insert_or_assign({std::move(from), std::move(to)}, std::move(convert));
  return *this;
}

Result<Value> Converter::convert(Value object, const std::string& to) const {
  if (!object.is_object()) return fail(Code::kInvalid, "it is not a JSON object");
  const std::string from = text_at(object, "/apiVersion");
  if (from == to) return object;
  const auto found = conversions_.find({from, to});
  if (found == conversions_.end()) {
    return fail(Code::kUnsupported,
                fmt::format("there is no conversion from {} to {}", quoted(from), quoted(to)));
  }
  MS_TRY(Value converted, found->second(std::move(object)));
  converted.set("apiVersion", to);
  return converted;
}

Result<std::string> Converter::answer(std::string_view body) const {
  MS_TRY(ConversionRequest request, read_review(body));
  Value response = Value::object({{"uid", request.uid},
                                  {"convertedObjects", Value::array()},
                                  {"result", Value::object({{"status", "Success"}})}});
  for (Value& object : request.objects) {
    const std::string name = name_of(object);
    auto converted = convert(std::move(object), request.desired);
    if (!converted) {
      response.set("convertedObjects", Value::array());
      response.set(
          "result",
          Value::object({{"status", "Failure"},
                         {"message", fmt::format("{}: {}", name, converted.error().to_string())}}));
      break;
    }
    response["convertedObjects"].push_back(*std::move(converted));
  }
  return json::to_text(Value::object({{"apiVersion", "apiextensions.k8s.io/v1"},
                                      {"kind", "ConversionReview"},
                                      {"response", std::move(response)}}));
}

namespace {

Task<Result<http::Response>> convert_all(std::shared_ptr<const Converter> converter,
                                         http::Request request) {
  MS_CO_CHECK(require_json(request));
  MS_CO_TRY(std::string body, converter->answer(request.body));
  co_return http::json_response(200, std::move(body));
}

}  // namespace

void add_conversion(http::Router& router, std::string_view path, Converter converter) {
  auto shared = std::make_shared<const Converter>(std::move(converter));
  router.add(http::Method::kPost, path,
             [shared](http::Request request) { return convert_all(shared, std::move(request)); });
}

}  // namespace mainspring::control
