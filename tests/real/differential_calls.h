// tests/real/differential_calls.h
//
// Makes up the calls of one seed of differential.cc. Everything that comes of them must be decided
// by the calls alone: nothing here wakes a controller. Owned by a seed's run.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "real/differential_peer.h"

namespace mainspring {

inline constexpr std::string_view kMerge = "application/merge-patch+json";
inline constexpr std::string_view kJson = "application/json-patch+json";
inline constexpr std::string_view kStrategic = "application/strategic-merge-patch+json";
inline constexpr std::string_view kApply = "application/apply-patch+yaml";

struct Subject {
  const char* path;  // With {} for the namespace.
  const char* api_version;
  const char* kind;
};

inline constexpr Subject kSubjects[] = {
    {"/api/v1/namespaces/{}/configmaps", "v1", "ConfigMap"},
    {"/api/v1/namespaces/{}/secrets", "v1", "Secret"},
    {"/apis/coordination.k8s.io/v1/namespaces/{}/leases", "coordination.k8s.io/v1", "Lease"},
    {"/apis/apps/v1/namespaces/{}/controllerrevisions", "apps/v1", "ControllerRevision"},
    {"/api/v1/namespaces/{}/pods", "v1", "Pod"},
    {"/api/v1/namespaces/{}/services", "v1", "Service"},
    {"/apis/diff.mainspring.dev/v1/namespaces/{}/widgets", "diff.mainspring.dev/v1", "Widget"},
    {"/apis/diff.mainspring.dev/v1/namespaces/{}/gadgets", "diff.mainspring.dev/v1", "Gadget"},
};

// Makes up the calls of one seed.
class Writer {
 public:
  Writer(std::uint64_t seed, std::string ns) : random_(seed), ns_(std::move(ns)) {}

  Call next() {
    const Subject& subject = kSubjects[random_.below(std::size(kSubjects))];
    const std::string all = fmt::format(fmt::runtime(subject.path), ns_);
    const std::string name = pick({"a", "b", "c"});
    const std::string one = all + "/" + name;
    switch (random_.below(17)) {
      case 0:
      case 1:
        return {Method::kPost, all, to_text(object(subject, name)), "application/json"};
      case 2:
        return {Method::kPost, all + pick({"?dryRun=All", "?fieldManager=m1"}),
                to_text(generated(subject)), "application/json"};
      case 3:
        return update(subject, one, name);
      case 4:
      case 5:
        return patch(subject, one);
      case 6:
        return {Method::kPatch, one, json_patch(), std::string(kJson)};
      case 7:
      case 8:
      case 9:
        return apply(subject, one, name);
      case 10:
        return remove(one);
      case 11:
        return {Method::kGet, random_.below(2) == 0 ? one : all + list_query(subject), "", ""};
      case 12:
      case 13:
        return part(subject, one, name);
      case 14:
        return {Method::kPatch, one,
                R"({"metadata":{"finalizers":)" +
                    pick({"null", R"(["x.dev/a"])", R"(["x.dev/a","x.dev/b"])"}) + "}}",
                std::string(kMerge)};
      case 15:
        return {Method::kGet,
                all + pick({"?limit=1", "?limit=1&continue=$continue"}) + "&labelSelector=diff%3D1",
                "", ""};
      default:
        if (random_.below(4) != 0) return {Method::kGet, one, "", ""};
        return {Method::kDelete, all + "?labelSelector=diff%3D1" + pick({"", "&dryRun=All"}), "",
                ""};
    }
  }

 private:
  static bool is_custom(const Subject& subject) {
    return std::string_view(subject.api_version).starts_with("diff.");
  }

  Call update(const Subject& subject, const std::string& one, const std::string& name) {
    Value body = object(subject, name);
    const std::string version = pick({"", "$rv", "$rv", "1"});
    if (!version.empty()) body["metadata"]["resourceVersion"] = version;
    if (random_.below(6) == 0) body["metadata"]["uid"] = pick({"$uid", "other"});
    return {Method::kPut, one + pick({"", "", "", "?dryRun=All"}), to_text(body),
            "application/json"};
  }

  Call patch(const Subject& subject, const std::string& one) {
    const bool strategic = !is_custom(subject) && random_.below(2) == 0;
    return {Method::kPatch,
            one + "?fieldManager=" + pick({"m1", "m2", "m3"}) + pick({"", "", "", "&dryRun=All"}),
            to_text(fragment(subject)), std::string(strategic ? kStrategic : kMerge)};
  }

  Call apply(const Subject& subject, const std::string& one, const std::string& name) {
    Value body =
        std::string_view(subject.kind) == "Pod" ? object(subject, name) : fragment(subject);
    body["apiVersion"] = subject.api_version;
    body["kind"] = subject.kind;
    body["metadata"]["name"] = name;
    // Refused with a sentence about Go types.
    if (const Value* replicas = body.at_pointer("/spec/replicas");
        replicas != nullptr && replicas->is_string()) {
      body["spec"].erase("replicas");
    }
    return {Method::kPatch,
            one + "?fieldManager=" + pick({"m1", "m2", "m3"}) +
                pick({"", "", "&force=true", "&force=true&dryRun=All"}),
            to_text(body), std::string(kApply)};
  }

  Call remove(const std::string& one) {
    const std::string body = pick(
        {"", "", R"({"preconditions":{"uid":"$uid"}})", R"({"preconditions":{"uid":"other"}})",
         R"({"preconditions":{"resourceVersion":"1"}})", R"({"propagationPolicy":"Background"})",
         R"({"gracePeriodSeconds":0})", R"({"dryRun":["All"]})"});
    return {Method::kDelete, one, body, "application/json"};
  }

  std::string list_query(const Subject& subject) {
    const std::string_view kind = subject.kind;
    if (random_.below(2) == 0) return "?labelSelector=diff%3D1" + pick({"", ",x!%3D1", ",!x"});
    if (random_.below(4) == 0) return "?fieldSelector=spec.odd%3D1";
    std::string field = pick({"metadata.name%3Da", "metadata.name!%3Da"});
    if (kind == "Secret" && random_.below(2) == 0) field = "type%3DOpaque";
    if (kind == "Pod" && random_.below(2) == 0)
      field = pick({"spec.nodeName%3D", "spec.nodeName%3Dn"});
    return "?labelSelector=diff%3D1&fieldSelector=" + field;
  }

  // Subresources, where the kind has any.
  Call part(const Subject& subject, const std::string& one, const std::string& name) {
    const std::string_view kind = subject.kind;
    if (kind == "Pod") return pod_part(one);
    if (kind != "Widget") return {Method::kGet, one, "", ""};
    switch (random_.below(6)) {
      case 0:
        return {Method::kGet, one + "/scale", "", ""};
      case 1:
        return {Method::kPatch, one + "/scale",
                pick({R"({"spec":{"replicas":2}})", R"({"spec":{"replicas":2}})",
                      R"({"spec":{"replicas":-1}})", R"({"spec":{"replicas":11}})",
                      R"({"metadata":{"resourceVersion":"1"},"spec":{"replicas":3}})"}),
                std::string(kMerge)};
      case 2:
        return {Method::kPut, one + "/scale",
                R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":")" + name +
                    R"("},"spec":{"replicas":)" + pick({"1", "4"}) + "}}",
                "application/json"};
      case 3: {
        Value body = object(subject, name);
        body["metadata"]["resourceVersion"] = pick({"$rv", "$rv", "1"});
        body["status"]["phase"] = pick({"on", "off"});
        return {Method::kPut, one + "/status", to_text(body), "application/json"};
      }
      case 4:
        return {Method::kPatch, one + "/status?fieldManager=" + pick({"m1", "m2", "m1&force=true"}),
                R"({"apiVersion":"diff.mainspring.dev/v1","kind":"Widget","metadata":{"name":")" +
                    name + R"("},"status":{"conditions":[{"type":")" + pick({"Ready", "Done"}) +
                    R"(","status":")" + pick({"True", "False"}) + R"("}]}})",
                std::string(kApply)};
      default:
        return {Method::kPatch, one + "/status", status_patch(), std::string(kMerge)};
    }
  }

  Call pod_part(const std::string& one) {
    switch (random_.below(4)) {
      case 0:
        return {Method::kPost, one + "/binding",
                R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":")" +
                    one.substr(one.rfind('/') + 1) + R"("},"target":{"kind":"Node","name":"n"}})",
                "application/json"};
      case 1:
        return {Method::kPost, one + "/eviction",
                R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":")" +
                    one.substr(one.rfind('/') + 1) + R"("}})",
                "application/json"};
      case 2:
        return {Method::kPatch, one + "/status",
                R"({"status":{"conditions":[{"type":"x.dev/a","status":")" +
                    pick({"True", "False"}) + R"("}]}})",
                std::string(kStrategic)};
      default:
        return {Method::kPatch, one + "/status",
                R"({"status":{"phase":")" + pick({"Running", "Pending"}) + R"("}})",
                std::string(kMerge)};
    }
  }

  std::string pick(std::initializer_list<const char*> choices) {
    return choices.begin()[random_.below(choices.size())];
  }

  Value labels() {
    Value made = Value::object({{"diff", "1"}});
    if (random_.below(2) == 0) made["x"] = pick({"1", "2"});
    return made;
  }

  Value object(const Subject& subject, const std::string& name) {
    Value made = fragment(subject);
    made["apiVersion"] = subject.api_version;
    made["kind"] = subject.kind;
    made["metadata"]["name"] = name;
    made["metadata"]["labels"] = labels();
    if (std::string_view(subject.kind) == "Pod") {
      made["spec"] = Value::object(
          {{"schedulerName", "none"},
           {"automountServiceAccountToken", false},
           {"containers", Value::array({Value::object({{"name", "c"}, {"image", "i:1"}})})}});
    }
    return made;
  }

  Value generated(const Subject& subject) {
    Value made = object(subject, "");
    made["metadata"].erase("name");
    made["metadata"]["generateName"] = "gen-";
    // Lists come in the order of names, which are chance here: keep these out of them.
    made["metadata"]["labels"] = Value::object({{"generated", "1"}});
    return made;
  }

  // Part of an object: what a patch or an apply carries.
  Value fragment(const Subject& subject) {
    Value made = Value::object({{"metadata", Value::object()}});
    const std::string_view kind = subject.kind;
    if (random_.below(2) == 0) made["metadata"]["labels"] = labels();
    if (random_.below(4) == 0) made["metadata"]["annotations"]["note"] = pick({"1", "2"});
    if (kind == "ConfigMap") {
      for (const char* key : {"a", "b", "c"}) {
        if (random_.below(2) == 0) made["data"][key] = pick({"1", "2"});
      }
    } else if (kind == "Secret") {
      for (const char* key : {"a", "b"}) {
        if (random_.below(2) == 0) made["data"][key] = pick({"MQ==", "Mg=="});
      }
    } else if (kind == "Lease") {
      made["spec"]["holderIdentity"] = pick({"x", "y"});
      if (random_.below(2) == 0) made["spec"]["leaseDurationSeconds"] = 1 + random_.below(3);
    } else if (kind == "ControllerRevision") {
      made["revision"] = 1 + random_.below(3);
      made["data"]["k"] = 1;
    } else if (kind == "Widget") {
      widget(made["spec"]);
    } else if (kind == "Service") {
      made["spec"]["clusterIP"] = "None";
      const char* const port = random_.below(2) == 0 ? "x" : "y";
      made["spec"]["ports"].push_back(
          Value::object({{"name", port}, {"port", *port == 'x' ? 80 : 81}, {"protocol", "TCP"}}));
      if (random_.below(2) == 0) made["spec"]["selector"]["app"] = pick({"1", "2"});
    } else if (kind == "Gadget") {
      made["spec"][pick({"a", "b"})] = random_.below(3);
      if (random_.below(2) == 0) made["spec"]["deep"][pick({"a", "b"})] = random_.below(3);
      if (random_.below(2) == 0) made["spec"]["list"].push_back(random_.below(3));
    }
    return made;
  }

  void widget(Value& spec) {
    spec["color"] = pick({"red", "green", "blue", "blue", "pink"});
    if (random_.below(3) == 0) spec["replicas"] = random_.below(12);
    if (random_.below(4) == 0) spec["word"] = pick({"abc", "xyz", "A", "Abc", "abcdefghij"});
    if (random_.below(3) == 0) spec["tags"].push_back(pick({"p", "q", "r"}));
    if (random_.below(3) == 0) {
      spec["ports"].push_back(
          Value::object({{"name", pick({"x", "y"})}, {"port", random_.below(3)}}));
    }
    if (random_.below(3) == 0) spec["opts"][pick({"m", "n"})] = pick({"1", "2"});
    if (random_.below(4) == 0) spec["raw"]["z"]["q"] = random_.below(3);
    if (random_.below(4) == 0) spec["atom"][pick({"a", "b"})] = pick({"1", "2"});
    if (random_.below(5) == 0) spec["list"] = Value::array();
    if (random_.below(6) == 0) spec["unknown"] = 1;
    if (random_.below(8) == 0) spec["replicas"] = "many";
  }

  std::string json_patch() {
    return pick({R"([{"op":"add","path":"/metadata/annotations","value":{"p":"1"}}])",
                 R"([{"op":"remove","path":"/metadata/annotations"}])",
                 R"([{"op":"test","path":"/metadata/name","value":"a"}])",
                 R"([{"op":"replace","path":"/metadata/labels/x","value":"2"}])"});
  }

  std::string status_patch() {
    return pick({R"({"status":{"phase":"on"}})",
                 R"({"status":{"replicas":2},"spec":{"replicas":3}})", R"({"spec":{"replicas":4}})",
                 R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})"});
  }

  Random random_;
  std::string ns_;
};

}  // namespace mainspring
