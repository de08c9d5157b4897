// slurm/pace.h
//
// When to ask Slurm for one kind of thing again. The dearer the last answer was, the later: what we
// take of the server's time stays within a share, from ten nodes to ten thousand. Where little was
// taken for a while, some of it is saved up, so that a few dear answers in a row are not waited
// for. Somebody in a hurry gets a larger share, and after a failure comes a growing, jittered wait
// that no hurry shortens. Also remembers as of when the last good answer holds. A value without
// I/O, owned by the change cache, one for each kind of request.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "base/error.h"
#include "base/random.h"
#include "base/time.h"

namespace mainspring::slurm {

struct PaceOptions {
  Duration pace{};                 // The soonest, while nobody is in a hurry.
  double share = 0.003;            // The largest share of time that answers may take then,
  double hurry_share = 0.1;        // and while somebody is.
  Duration longest = minutes(10);  // However dear it is: an answer may have been slow for once.
  Duration savings{};              // The longest time whose share can be saved up.
  Backoff::Options backoff{.first = milliseconds(500), .max = seconds(30)};
};

class Pace {
 public:
  explicit Pace(PaceOptions options);

  // At the beginning of time where it never began.
  TimePoint due() const;
  // Asked for as soon as the larger share allows. Once a request that begins after this has been.
  void hurry(TimePoint now);
  // Due now, whatever it costs and whatever failed.
  void at_once();

  // What failed is no more: what was waited for because of it is not waited for any longer.
  void forgive();

  void began(TimePoint now);
  // What a request cost. A turn may make several.
  void spent(Duration cost);
  void succeeded(TimePoint now);
  void failed(TimePoint now, const Error& error, Random& random);

  // From the last success to the next, while nobody is in a hurry.
  Duration interval() const;
  Duration cost() const { return cost_; }
  // The beginning of the last turn that succeeded: the answer is at least as new.
  std::optional<TimePoint> confirmed() const { return confirmed_; }
  bool failing() const { return !why_.empty(); }
  const std::string& why() const { return why_; }

 private:
  PaceOptions options_;
  Backoff backoff_;
  std::optional<TimePoint> began_, ended_, confirmed_, hurried_, retry_;
  bool at_once_ = false;
  // What was asked is within the share by then. In the past where something is saved up.
  TimePoint paid_;
  Duration spending_{}, cost_{};
  std::string why_;
};

// Whether `count` things are read more cheaply by listing all than one by one.
bool list_is_cheaper(std::size_t count, Duration single_cost, Duration list_cost);

}  // namespace mainspring::slurm
