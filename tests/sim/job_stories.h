// tests/sim/job_stories.h
//
// How far each job came by what a store told of it: it waits, it has nodes, it has ended. None goes
// back, but by a requeue, which Slurm counts, or where slurmctld lost what it had not saved. For
// simulations and for tests against the real thing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/store.h"
#include "slurm/job.h"

namespace mainspring::sim {

// Must live as long as the store changes.
class JobStories {
 public:
  explicit JobStories(Store<slurm::Job>& store) {
    store.add_handler([this](const auto& before, const auto& after) {
      after ? turn_page(*after) : close(before->id.text());
    });
  }
  // slurmctld was killed: of what was told so far, each job may go back once.
  void slurmctld_was_killed() { ++run_; }

  // Whether it was told that the job had nodes, or that it had ended or was gone.
  bool told_start(std::string_view id) const {
    const auto it = stories_.find(id);
    return it != stories_.end() && it->second.started;
  }
  bool told_end(std::string_view id) const {
    const auto it = stories_.find(id);
    return it != stories_.end() && (it->second.stage == Stage::kEnded || it->second.gone);
  }
  std::vector<std::string> complaints;

 private:
  enum class Stage : std::uint8_t { kWaits, kRuns, kEnded };
  struct Story {
    Stage stage = Stage::kWaits;
    std::int32_t restarts = 0;
    int run = 0;
    bool started = false, gone = false;
  };

  static Stage stage_of(const slurm::JobState& state) {
    if (state.is_pending()) return Stage::kWaits;
    return state.has_ended() ? Stage::kEnded : Stage::kRuns;
  }
  void turn_page(const slurm::Job& job) {
    const auto [it, is_new] = stories_.try_emplace(std::string(job.id.text()));
    Story& story = it->second;
    const Stage stage = stage_of(job.state);
    const bool may_go_back = is_new || run_ > story.run || job.restart_count > story.restarts;
    if (!may_go_back && stage < story.stage) {
      complaints.push_back("job " + it->first + " went back to " + job.state.to_string());
    }
    if (!may_go_back && story.gone) complaints.push_back("job " + it->first + " came back");
    story = {.stage = stage,
             .restarts = job.restart_count,
             .run = run_,
             .started = story.started || job.state.holds_resources()};
  }
  void close(std::string_view id) { stories_.find(id)->second.gone = true; }

  std::map<std::string, Story, std::less<>> stories_;
  int run_ = 0;
};

}  // namespace mainspring::sim
