// operator/nodeset/plan_testing.h
//
// A small world to plan for, and the plan told in words. For tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "operator/nodeset/plan.h"
#include "operator/nodeset/worker_testing.h"

namespace mainspring::op {

// A plan in words: "gpu-2 scale-in", "gpu-2 scale-in drained".
struct Told {
  std::vector<std::uint32_t> create;
  std::vector<std::string> create_on, condemned, remove, unregistered, unseen;
  std::int32_t held = 0;
  std::int32_t waiting = 0;
  std::int32_t desired = 0;
};

inline std::string_view word(Removal::Evidence evidence) {
  switch (evidence) {
    case Removal::Evidence::kNeverRan:
      return "never ran";
    case Removal::Evidence::kEnded:
      return "ended";
    case Removal::Evidence::kDrained:
      return "drained";
    case Removal::Evidence::kAbsent:
      return "absent";
  }
  return "";
}

struct Sample {
  api::NodeSet nodeset = nodeset_of(3);
  std::vector<Sketch> pods;
  std::vector<Place> places;
  std::string revision = "v1";
  std::vector<std::string> backing_off;
  std::string slurm_key;
  std::string sssd_conf;

  Told plan() const {
    NodeSetView view{.nodeset = nodeset, .revision_hash = revision, .now = kNow};
    for (const Sketch& pod : pods) view.workers.push_back(view_of(pod));
    view.places = places;
    view.backing_off = backing_off;
    view.slurm_key_hash = slurm_key;
    view.sssd_conf_hash = sssd_conf;
    const Plan plan = make_plan(view);
    Told told{.held = plan.held, .waiting = plan.waiting, .desired = plan.desired};
    for (const Creation& one : plan.create) {
      if (one.ordinal) told.create.push_back(*one.ordinal);
      if (one.node) told.create_on.push_back(one.node->meta.name);
    }
    const auto name = [&](std::size_t index) { return view.workers[index].pod->meta.name; };
    for (const auto& [index, cause] : plan.condemned) {
      told.condemned.push_back(name(index) + " " + std::string(to_string(cause)));
    }
    for (const auto& [index, cause, evidence] : plan.remove) {
      std::string text = name(index);
      if (cause != Cause::kNone) text += " " + std::string(to_string(cause));
      told.remove.push_back(text + " " + std::string(word(evidence)));
    }
    for (const std::size_t index : plan.unregistered) told.unregistered.push_back(name(index));
    for (const std::size_t index : plan.unseen) told.unseen.push_back(name(index));
    return told;
  }
};

inline Sample of(std::int32_t replicas, std::vector<Sketch> pods) {
  return {.nodeset = nodeset_of(replicas), .pods = std::move(pods)};
}

inline Sketch drained(Sketch sketch) {
  sketch.state = {slurm::NodeState::Base::kIdle, {slurm::NodeState::Flag::kDrain}};
  return sketch;
}

inline void expect_at_rest(const Told& told) {
  EXPECT_THAT(told.create, ::testing::IsEmpty());
  EXPECT_THAT(told.create_on, ::testing::IsEmpty());
  EXPECT_THAT(told.condemned, ::testing::IsEmpty());
  EXPECT_THAT(told.remove, ::testing::IsEmpty());
  EXPECT_THAT(told.unregistered, ::testing::IsEmpty());
}

inline Place place(std::string name, bool should_run = true, bool should_continue = true,
                   std::string hostname_override = {}) {
  return {.node = kube_node(std::move(name), false, std::move(hostname_override)),
          .should_run = should_run,
          .should_continue = should_continue};
}
inline Sketch daemon(std::string name, std::string node) {
  Sketch sketch{.name = std::move(name), .mode = api::ScalingMode::kDaemonSet, .node = node};
  sketch.hostname = node.substr(0, node.find('.'));
  return sketch;
}
inline Sample daemons(std::vector<Place> places, std::vector<Sketch> pods) {
  Sample world{.nodeset = nodeset_of(1), .pods = std::move(pods), .places = std::move(places)};
  world.nodeset.spec.scaling_mode = api::ScalingMode::kDaemonSet;
  return world;
}

}  // namespace mainspring::op
