// bridge/sync/recent_writes.h
//
// RecentWrites: what was done to pods and may not show in their store yet, which is a moment
// behind. Looked at before anything is decided, so that nothing is done twice and no pod gets a
// second node while the answer about the first is on its way. After a restart the store is read
// anew and knows more than this did. Lives on the control loop; GangSync is its only user.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "bridge/gang/gang.h"
#include "slurm/job_id.h"

namespace mainspring::bridge {

class RecentWrites {
 public:
  // The node that a pod has of a job, whether or not the API server has heard of it.
  void give(const PodPtr& pod, slurm::JobId job, const std::string& node) {
    Place& place = places_[pod->meta.uid];
    if (place.job != job || place.node != node) place = {pod, job, node, {}, false};
  }
  std::string_view given(std::string_view uid, slurm::JobId job) const {
    const auto at = places_.find(uid);
    return at != places_.end() && at->second.job == job ? std::string_view(at->second.node) : "";
  }

  // The API server is asked to bind it there.
  void send(std::string_view uid, TimePoint now) {
    if (const auto at = places_.find(uid); at != places_.end()) at->second.sent = now;
  }
  // It has, which is for good.
  void bound(std::string_view uid) {
    if (const auto at = places_.find(uid); at != places_.end()) at->second.bound = true;
  }
  // For which job; no job where it is not.
  slurm::JobId bound_for(std::string_view uid) const {
    const auto at = places_.find(uid);
    return at != places_.end() && at->second.bound ? at->second.job : slurm::JobId();
  }

  // Those that have a place there which the store does not show.
  struct Unseen {
    PodPtr pod;
    slurm::JobId job;
    bool maybe_there = false;  // It was sent there; an answer may have been lost.
  };
  std::vector<Unseen> unseen_on(std::string_view node, TimePoint now) const {
    std::vector<Unseen> out;
    for (const auto& [uid, place] : places_) {
      if (place.node != node) continue;
      const bool just_sent = place.sent && now < *place.sent + kAWhile;
      out.push_back({place.pod, place.job, place.bound || just_sent});
    }
    return out;
  }

  // It is about to get that node: for a while nobody else is to count on what it takes there.
  void reserve(const PodPtr& pod, const std::string& node, TimePoint now) {
    reserved_[pod->meta.uid] = {pod, node, now};
  }
  // Those that are on their way there, as far as anybody can tell, and that the store does not show
  // there.
  std::vector<PodPtr> expected_on(std::string_view node, TimePoint now) const {
    std::vector<PodPtr> out;
    for (const auto& [uid, one] : reserved_) {
      if (one.node == node && now < one.at + kAWhile) out.push_back(one.pod);
    }
    for (const Unseen& one : unseen_on(node, now)) {
      const auto reserved = reserved_.find(one.pod->meta.uid);
      const bool is_in = reserved != reserved_.end() && reserved->second.node == node &&
                         now < reserved->second.at + kAWhile;
      if (one.maybe_there && !is_in) out.push_back(one.pod);
    }
    return out;
  }

  // Whether it has our finalizer, until the store says the same; unset: as the store says.
  void guarded(const std::string& uid, bool is) { guards_[uid] = is; }
  std::optional<bool> is_guarded(std::string_view uid) const {
    const auto at = guards_.find(uid);
    return at != guards_.end() ? std::optional(at->second) : std::nullopt;
  }
  void shows_guard(std::string_view uid, bool is) {
    if (is_guarded(uid) == is) erase(guards_, uid);
  }

  // Its finalizer is off. After a while the store is believed again, whatever it shows.
  void let_go(const std::string& uid, TimePoint now) { gone_[uid] = now; }
  bool was_let_go(std::string_view uid, TimePoint now) const {
    const auto at = gone_.find(uid);
    return at != gone_.end() && now < at->second + kAWhile;
  }

  // The store shows the pod's node, or that there is no such pod any more.
  void shows_node(std::string_view uid) {
    erase(places_, uid);
    erase(reserved_, uid);
  }
  void forget(std::string_view uid) {
    erase(places_, uid);
    erase(reserved_, uid);
    erase(gone_, uid);
    erase(guards_, uid);
  }

  static constexpr Duration kAWhile = seconds(5);

 private:
  struct Place {
    PodPtr pod;
    slurm::JobId job;
    std::string node;
    std::optional<TimePoint> sent;
    bool bound = false;
  };
  struct Reserved {
    PodPtr pod;
    std::string node;
    TimePoint at{};
  };
  template <class T>
  using ByUid = std::map<std::string, T, std::less<>>;
  template <class T>
  static void erase(ByUid<T>& from, std::string_view uid) {
    if (const auto at = from.find(uid); at != from.end()) from.erase(at);
  }

  ByUid<Place> places_;
  ByUid<Reserved> reserved_;
  ByUid<TimePoint> gone_;
  ByUid<bool> guards_;
};

}  // namespace mainspring::bridge
