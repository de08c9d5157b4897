// slurm/job_id.h
//
// JobId: the number of a job, which is also its key in a Store, so it keeps its decimal text at
// hand. A value of sixteen bytes. 0 is no job. And the other ways in which Slurm writes one.
#pragma once

#include <array>
#include <charconv>
#include <compare>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "json/reader.h"
#include "slurm/number.h"

namespace mainspring::slurm {

class JobId {
 public:
  JobId() : JobId(0) {}
  explicit JobId(std::uint32_t number) : number_(number) {
    const auto end = std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr;
    length_ = static_cast<std::uint8_t>(end - text_.data());
  }

  std::uint32_t number() const { return number_; }
  std::string_view text() const { return {text_.data(), length_}; }
  explicit operator bool() const { return number_ != 0; }

  bool operator==(const JobId& other) const { return number_ == other.number_; }
  auto operator<=>(const JobId& other) const { return number_ <=> other.number_; }

 private:
  std::uint32_t number_;
  std::array<char, 10> text_{};
  std::uint8_t length_ = 0;
};

// A number, or the {set,number} object. Not there is no job.
bool read(json::Reader& reader, JobId& out);

// A job as jobs/state, squeue and requests write it: "12", a part of a het job "9+1", a task of an
// array "21_3", an array that waits "20_[1-5,9%2]" or "20_*".
struct JobIdText {
  // The number in front. In jobs/state it is that of the record itself: a part of a het job and a
  // task that has started have their own, tasks that wait share that of their array. (squeue puts
  // the leader's or the array's number there; it cannot be told from the text.)
  JobId id;
  Number het_offset;
  Number array_task;
  std::string_view array_tasks;  // "1-5,9%2" or "*" where it stands for several; into the text.

  bool is_array() const { return array_task.set() || !array_tasks.empty(); }
  bool operator==(const JobIdText&) const = default;
};
Result<JobIdText> parse_job_id_text(std::string_view text);

}  // namespace mainspring::slurm
