// bridge/webhook/admission_test.cc
#include "bridge/webhook/admission.h"

#include <gmock/gmock.h>

#include "bridge/names.h"
#include "json/merge_patch.h"

namespace mainspring::bridge {
namespace {

using json::Value;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Cause = kube::StatusCause;

Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *std::move(value) : Value();
}

// A bare pod that asks for one CPU, changed by a merge patch.
Value pod(std::string_view change = "{}") {
  Value made = parsed(R"({"metadata":{"name":"p","namespace":"research"},"spec":{
      "schedulerName":"slurm-bridge-scheduler",
      "containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}]}})");
  return json::apply_merge_patch(std::move(made), parsed(change));
}

BridgeConfig config() {
  BridgeConfig made;
  made.slurm_rest_api = "http://slurm:6820";
  made.identities["research"] = {.user = "ann", .account = "phys"};
  return made;
}

Findings created(std::string_view change) {
  return validate_new(pod(change), "research", config());
}
Findings changed(std::string_view before, std::string_view after) {
  return validate_change(pod(before), pod(after), "research", config());
}

auto refuses(std::string_view field, std::string_view message) {
  return Field(&Findings::problems,
               ElementsAre(AllOf(Field(&Cause::field, std::string(field)),
                                 Field(&Cause::message, HasSubstr(std::string(message))))));
}
auto accepts() {
  return AllOf(Field(&Findings::problems, IsEmpty()), Field(&Findings::warnings, IsEmpty()));
}
auto warns(std::string_view text) {
  return AllOf(Field(&Findings::problems, IsEmpty()),
               Field(&Findings::warnings, ElementsAre(HasSubstr(std::string(text)))));
}

TEST(PodClaim, IsByTheSchedulersName) {
  const BridgeConfig ours = config();
  EXPECT_EQ(claim_of(pod(), ours), PodClaim::kOurs);
  EXPECT_EQ(claim_of(pod(R"({"spec":{"schedulerName":null}})"), ours), PodClaim::kOpen);
  EXPECT_EQ(claim_of(pod(R"({"spec":{"schedulerName":"default-scheduler"}})"), ours),
            PodClaim::kOpen);
  EXPECT_EQ(claim_of(pod(R"({"spec":{"schedulerName":"other"}})"), ours), PodClaim::kOther);
}

TEST(PodClaim, AKubeletsOwnPodIsNobodysToPlaceByAKubeletsWordAlone) {
  const Value mirror = pod(R"({"metadata":{"annotations":{"kubernetes.io/config.mirror":"x"}}})");
  EXPECT_TRUE(is_static(mirror, "system:node:n1"));
  EXPECT_FALSE(is_static(mirror, "ann"));
  EXPECT_FALSE(is_static(pod(), "system:node:n1"));
  EXPECT_EQ(claim_of(mirror, config()), PodClaim::kOurs);
}

TEST(TakenOver, APodGetsOurSchedulerTheTolerationAndNoNode) {
  const Value made =
      taken_over(pod(R"({"spec":{"schedulerName":"default-scheduler","nodeName":"n1","tolerations":[
          {"key":"a","operator":"Exists"}]}})"),
                 config());
  EXPECT_EQ(made.find("spec")->find("nodeName"), nullptr);
  EXPECT_EQ(*made.at_pointer("/spec/schedulerName"), Value("slurm-bridge-scheduler"));
  EXPECT_EQ(*made.at_pointer("/spec/tolerations"),
            parsed(R"([{"key":"a","operator":"Exists"},{"key":"slinky.slurm.net/managed-node",
                "operator":"Equal","value":"slurm-bridge-scheduler","effect":"NoExecute"}])"));
}

TEST(TakenOver, ChangesNothingTheSecondTime) {
  const Value once = taken_over(pod(), config());
  EXPECT_EQ(taken_over(once, config()), once);
}

TEST(ValidateNew, AnOrdinaryPodIsFine) {
  EXPECT_THAT(created("{}"), accepts());
  EXPECT_THAT(created(R"({"metadata":{"annotations":{"slurmjob.slinky.slurm.net/timelimit":"5",
      "slurmjob.slinky.slurm.net/account":"phys","anything":"else"}}})"),
              accepts());
  EXPECT_THAT(created(R"({"spec":{"topologySpreadConstraints":[],"resourceClaims":[],
      "affinity":{"nodeAffinity":{},"podAffinity":{}}}})"),
              accepts());
}

TEST(ValidateNew, TheBridgesNamesCannotBePreset) {
  EXPECT_THAT(created(R"({"metadata":{"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"42"}}})"),
              refuses("metadata.labels[scheduler.slinky.slurm.net/slurm-jobid]", "Remove it"));
  EXPECT_THAT(created(R"({"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n1"}}})"),
              refuses("metadata.annotations[slinky.slurm.net/slurm-node]", "Remove it"));
}

TEST(ValidateNew, ClaimsAreMadeByUs) {
  EXPECT_THAT(
      created(R"({"spec":{"resourceClaims":[{"name":"gpu"}]}})"),
      refuses("spec.resourceClaims", "deviceclass.resource.kubernetes.io/gpu.nvidia.com: 1"));
}

TEST(ValidateNew, OnlySoftSpreadingIsLetIn) {
  EXPECT_THAT(created(R"({"spec":{"topologySpreadConstraints":[
      {"whenUnsatisfiable":"DoNotSchedule"}]}})"),
              refuses("spec.topologySpreadConstraints[0]", "exclusive: \"true\""));
  EXPECT_THAT(created(R"({"spec":{"topologySpreadConstraints":[
      {"whenUnsatisfiable":"ScheduleAnyway"}]}})"),
              warns("not looked at"));
}

TEST(ValidateNew, OnlyPreferencesForTheCompanyOfPodsAreLetIn) {
  EXPECT_THAT(created(R"({"spec":{"affinity":{"podAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a"}]}}}})"),
              refuses("spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution",
                      "one gang"));
  EXPECT_THAT(
      created(R"({"spec":{"affinity":{"podAntiAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a"}]}}}})"),
      refuses("spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution",
              "slurmjob.slinky.slurm.net/exclusive"));
  EXPECT_THAT(created(R"({"spec":{"affinity":{"podAffinity":{
      "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}]}}}})"),
              warns("not looked at"));
}

TEST(ValidateNew, CpusAreAskedForInOneWay) {
  constexpr std::string_view kDevices = R"({"limits":
      {"deviceclass.resource.kubernetes.io/dra.cpu":"2"}})";
  const std::string alone =
      R"({"spec":{"containers":[{"name":"main","resources":)" + std::string(kDevices) + "}]";
  EXPECT_THAT(created(alone + "}}"), accepts());
  constexpr std::string_view kField = "spec.containers[0].resources.limits";
  EXPECT_THAT(created(alone + R"(,"initContainers":[{"resources":{"requests":{"cpu":"1"}}}]}})"),
              refuses(kField, "LimitRange"));
  EXPECT_THAT(created(alone + R"(,"resources":{"limits":{"cpu":"1"}}}})"),
              refuses(kField, "in one of the two ways"));
}

TEST(ValidateNew, ADeviceClassThatSlurmDoesNotKnowIsRefusedOnce) {
  EXPECT_THAT(
      created(R"({"spec":{"containers":[{"resources":{
          "limits":{"deviceclass.resource.kubernetes.io/tpu.example":"1"},
          "requests":{"deviceclass.resource.kubernetes.io/tpu.example":"1"}}}]}})"),
      refuses("spec.containers[0].resources.limits[deviceclass.resource.kubernetes.io/tpu.example]",
              "dra.cpu, gpu.example.com, gpu.nvidia.com"));
}

TEST(ValidateNew, TheDevicesOfAClassAreOneContainers) {
  constexpr std::string_view kTwo = R"({"spec":{"containers":[
      {"resources":{"limits":{"deviceclass.resource.kubernetes.io/gpu.nvidia.com":"1"}}},
      {"resources":{"limits":{"deviceclass.resource.kubernetes.io/gpu.nvidia.com":"1"}}}]}})";
  EXPECT_THAT(created(kTwo), refuses("spec.containers[1].resources.limits[deviceclass.resource."
                                     "kubernetes.io/gpu.nvidia.com]",
                                     "one container"));
  EXPECT_THAT(created(R"({"spec":{"containers":[
      {"resources":{"limits":{"deviceclass.resource.kubernetes.io/dra.cpu":"1"}}},
      {"resources":{"limits":{"deviceclass.resource.kubernetes.io/dra.cpu":"1"}}}]}})"),
              accepts());
}

TEST(ValidateNew, GpusThatSlurmCannotTellApartAreNotAskedForTogether) {
  const std::string both = R"("containers":[{"resources":{"limits":
      {"nvidia.com/gpu":"1","amd.com/gpu":"1"}}}])";
  EXPECT_THAT(created(R"({"spec":{)" + both + "}}"),
              refuses("spec.containers[0].resources.limits[amd.com/gpu]", "one kind of device"));
  EXPECT_THAT(created(R"({"metadata":{"annotations":{"slurmjob.slinky.slurm.net/gres":"gpu:2"}},
      "spec":{)" + both +
                      "}}"),
              accepts());
  EXPECT_THAT(created(R"({"spec":{"containers":[{"resources":{"limits":
      {"nvidia.com/gpu":"1","amd.com/gpu":"0"}}}]}})"),
              accepts());
}

TEST(ValidateNew, AGangIsOfAKindThatWeKnow) {
  constexpr std::string_view kOwned = R"("ownerReferences":[{"kind":"Job","controller":true}])";
  EXPECT_THAT(created(R"({"metadata":{)" + std::string(kOwned) +
                      R"(,"annotations":{"mainspring.slurm.net/gang":"job"}}})"),
              refuses("metadata.annotations[mainspring.slurm.net/gang]", "expected Job or JobSet"));
  EXPECT_THAT(created(R"({"metadata":{)" + std::string(kOwned) +
                      R"(,"annotations":{"mainspring.slurm.net/gang":"Job"}}})"),
              accepts());
}

TEST(ValidateNew, AnAnnotationDoesNotSayAgainWhatDevicesSay) {
  EXPECT_THAT(created(R"({"metadata":{"annotations":{"slurmjob.slinky.slurm.net/gres":"gpu:1"}},
      "spec":{"containers":[{"resources":{"limits":
      {"deviceclass.resource.kubernetes.io/gpu.nvidia.com":"1"}}}]}})"),
              refuses("metadata.annotations[slurmjob.slinky.slurm.net/gres]",
                      "deviceclass.resource.kubernetes.io/gpu.nvidia.com"));
  EXPECT_THAT(
      created(R"({"metadata":{"annotations":{"slurmjob.slinky.slurm.net/cpu-per-task":"2"}},
      "spec":{"containers":[{"resources":{"limits":
      {"deviceclass.resource.kubernetes.io/dra.cpu":"1"}}}]}})"),
      refuses("metadata.annotations[slurmjob.slinky.slurm.net/cpu-per-task]", "Remove one"));
}

TEST(ValidateNew, AnAnnotationThatCannotBeReadIsRefusedWhereItCounts) {
  constexpr std::string_view kBad =
      R"("annotations":{"slurmjob.slinky.slurm.net/timelimit":"soon"})";
  EXPECT_THAT(created(R"({"metadata":{)" + std::string(kBad) + "}}"),
              refuses("metadata.annotations", "timelimit"));
  EXPECT_THAT(created(R"({"metadata":{"ownerReferences":[{"kind":"Job","controller":true}],)" +
                      std::string(kBad) + "}}"),
              accepts());
}

TEST(ValidateNew, AnEarlyAnnotationGetsAWarning) {
  EXPECT_THAT(created(R"({"metadata":{"annotations":{"slinky.slurm.net/timelimit":"5"}}})"),
              warns("slurmjob.slinky.slurm.net/timelimit"));
}

TEST(ValidateNew, WhoThePodIsToSlurmIsNotItsOwnChoice) {
  EXPECT_THAT(
      created(R"({"metadata":{"annotations":{"slurmjob.slinky.slurm.net/user-id":"bob"}}})"),
      warns("it is always ann"));
  EXPECT_THAT(created(R"({"metadata":{"annotations":{"slurmjob.slinky.slurm.net/qos":"high"}}})"),
              accepts());
}

TEST(ValidateNew, EverythingThatIsWrongIsSaidAtOnce) {
  const Findings findings = created(R"({"metadata":{"labels":{
      "scheduler.slinky.slurm.net/slurm-jobid":"1"}},"spec":{"resourceClaims":[{"name":"a"}]}})");
  EXPECT_EQ(findings.problems.size(), 2U);
}

TEST(ValidateChange, TheBridgesNamesCannotBeSetChangedOrRemoved) {
  constexpr std::string_view kLabelled =
      R"({"metadata":{"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"42"}}})";
  constexpr std::string_view kForged =
      R"({"metadata":{"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"43"}}})";
  constexpr std::string_view kField = "metadata.labels[scheduler.slinky.slurm.net/slurm-jobid]";
  EXPECT_THAT(changed("{}", kLabelled), refuses(kField, "by the bridge alone"));
  EXPECT_THAT(changed(kLabelled, kForged), refuses(kField, "by the bridge alone"));
  EXPECT_THAT(changed(kLabelled, "{}"), refuses(kField, "by the bridge alone"));
  EXPECT_THAT(changed(kLabelled, kLabelled), accepts());
  EXPECT_THAT(changed("{}", R"({"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n"}}})"),
              refuses("metadata.annotations[slinky.slurm.net/slurm-node]", "by the bridge alone"));
}

TEST(ValidateChange, AmountsStay) {
  EXPECT_THAT(changed("{}", R"({"spec":{"containers":[{"name":"main",
      "resources":{"requests":{"cpu":"2"}}}]}})"),
              refuses("spec", "cannot be resized"));
}

TEST(ValidateChange, WhatWasWrongBeforeDoesNotHoldUpOtherChanges) {
  constexpr std::string_view kBad = R"({"metadata":{"annotations":{
      "slurmjob.slinky.slurm.net/timelimit":"soon"}},"spec":{"resourceClaims":[{"name":"a"}]}})";
  constexpr std::string_view kLess = R"({"metadata":{"finalizers":["a"],"annotations":{
      "slurmjob.slinky.slurm.net/timelimit":"soon"}},"spec":{"resourceClaims":[{"name":"a"}]}})";
  EXPECT_THAT(changed(kBad, kLess), accepts());
}

TEST(ValidateChange, AnAnnotationMayChangeToOneThatCanBeRead) {
  EXPECT_THAT(changed("{}", R"({"metadata":{"annotations":{
      "slurmjob.slinky.slurm.net/timelimit":"9"}}})"),
              accepts());
  EXPECT_THAT(changed("{}", R"({"metadata":{"annotations":{
      "slurmjob.slinky.slurm.net/timelimit":"soon"}}})"),
              refuses("metadata.annotations", "timelimit"));
}

}  // namespace
}  // namespace mainspring::bridge
