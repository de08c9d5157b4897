// slurm/states.cc
#include "slurm/states.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"

namespace mainspring::slurm {
namespace {

template <class T>
struct Name {
  T value;
  std::string_view text;
};

using NodeBase = NodeState::Base;
using NodeFlag = NodeState::Flag;
using JobBase = JobState::Base;
using JobFlag = JobState::Flag;

constexpr std::array kNodeBases = std::to_array<Name<NodeBase>>({
    {NodeBase::kUnknown, "UNKNOWN"},
    {NodeBase::kDown, "DOWN"},
    {NodeBase::kIdle, "IDLE"},
    {NodeBase::kAllocated, "ALLOCATED"},
    {NodeBase::kError, "ERROR"},
    {NodeBase::kMixed, "MIXED"},
    {NodeBase::kFuture, "FUTURE"},
    {NodeBase::kInvalid, "INVALID"},
});

// In the order in which scontrol writes them.
constexpr std::array kNodeFlags = std::to_array<Name<NodeFlag>>({
    {NodeFlag::kBlocked, "BLOCKED"},
    {NodeFlag::kCloud, "CLOUD"},
    {NodeFlag::kCompleting, "COMPLETING"},
    {NodeFlag::kDrain, "DRAIN"},
    {NodeFlag::kDynamicFuture, "DYNAMIC_FUTURE"},
    {NodeFlag::kDynamicNorm, "DYNAMIC_NORM"},
    {NodeFlag::kExternal, "EXTERNAL"},
    {NodeFlag::kInvalidReg, "INVALID_REG"},
    {NodeFlag::kFail, "FAIL"},
    {NodeFlag::kMaintenance, "MAINTENANCE"},
    {NodeFlag::kPowerDown, "POWER_DOWN"},
    {NodeFlag::kPowerUp, "POWER_UP"},
    {NodeFlag::kPoweredDown, "POWERED_DOWN"},
    {NodeFlag::kRebootRequested, "REBOOT_REQUESTED"},
    {NodeFlag::kRebootIssued, "REBOOT_ISSUED"},
    {NodeFlag::kReserved, "RESERVED"},
    {NodeFlag::kResume, "RESUME"},
    {NodeFlag::kNotResponding, "NOT_RESPONDING"},
    {NodeFlag::kPlanned, "PLANNED"},
    {NodeFlag::kPoweringUp, "POWERING_UP"},
    {NodeFlag::kPoweringDown, "POWERING_DOWN"},
    {NodeFlag::kUndrain, "UNDRAIN"},
    {NodeFlag::kRebootCanceled, "REBOOT_CANCELED"},
    {NodeFlag::kPowerDrain, "POWER_DRAIN"},
    {NodeFlag::kPowerDownAsap, "POWER_DOWN_ASAP"},
    {NodeFlag::kPowerDownForce, "POWER_DOWN_FORCE"},
    {NodeFlag::kOther, "OTHER"},
});

struct JobName {
  std::string_view text, code;
};
// By the number of the base.
constexpr std::array<JobName, 13> kJobBases = {{{"UNKNOWN", "?"},
                                                {"PENDING", "PD"},
                                                {"RUNNING", "R"},
                                                {"SUSPENDED", "S"},
                                                {"COMPLETED", "CD"},
                                                {"CANCELLED", "CA"},
                                                {"FAILED", "F"},
                                                {"TIMEOUT", "TO"},
                                                {"NODE_FAIL", "NF"},
                                                {"PREEMPTED", "PR"},
                                                {"BOOT_FAIL", "BF"},
                                                {"DEADLINE", "DL"},
                                                {"OUT_OF_MEMORY", "OOM"}}};
// By the number of the flag, which is the order of Slurm's full form. Those without a code are
// never the one word that squeue shows.
constexpr std::array<JobName, 17> kJobFlags = {{{"LAUNCH_FAILED", ""},
                                                {"COMPLETING", "CG"},
                                                {"CONFIGURING", "CF"},
                                                {"EXPEDITING", ""},
                                                {"POWER_UP_NODE", ""},
                                                {"RECONFIG_FAIL", ""},
                                                {"RESIZING", "RS"},
                                                {"REQUEUED", "RQ"},
                                                {"REQUEUE_FED", "RF"},
                                                {"REQUEUE_HOLD", "RH"},
                                                {"SPECIAL_EXIT", "SE"},
                                                {"STOPPED", "ST"},
                                                {"REVOKED", "RV"},
                                                {"RESV_DEL_HOLD", "RD"},
                                                {"SIGNALING", "SI"},
                                                {"STAGE_OUT", "SO"},
                                                {"OTHER", ""}}};
static_assert(kJobFlags.size() == static_cast<std::size_t>(JobFlag::kOther) + 1);
static_assert(kJobBases.size() == static_cast<std::size_t>(JobBase::kOutOfMemory) + 1);

// In any case, though Slurm itself writes capitals.
bool is_called(std::string_view name, std::string_view text) {
  return name.size() == text.size() && (name == text || equals_ignore_case(name, text));
}

template <class Table>
auto find_name(const Table& table, std::string_view text) {
  const auto it = std::find_if(table.begin(), table.end(),
                               [&](const auto& entry) { return is_called(entry.text, text); });
  using Value = decltype(it->value);
  return it == table.end() ? std::nullopt : std::optional<Value>(it->value);
}

std::string join_names(const std::vector<std::string_view>& names, char separator) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += separator;
    text += name;
  }
  return text;
}

// What sinfo appends to say why a node is not simply what it is; the first that holds.
constexpr std::array<std::pair<NodeFlag, char>, 8> kSuffixes = {{
    {NodeFlag::kMaintenance, '$'},
    {NodeFlag::kRebootIssued, '^'},
    {NodeFlag::kRebootRequested, '@'},
    {NodeFlag::kPoweringUp, '#'},
    {NodeFlag::kPoweringDown, '%'},
    {NodeFlag::kPoweredDown, '~'},
    {NodeFlag::kPowerDown, '!'},
    {NodeFlag::kNotResponding, '*'},
}};

std::string with_suffix(std::string_view word, const NodeState& state) {
  std::string text(word);
  for (const auto& [flag, suffix] : kSuffixes) {
    if (state.has(flag)) return text += suffix;
  }
  if (state.base() == NodeBase::kAllocated && word == "ALLOCATED" &&
      state.has(NodeFlag::kCompleting)) {
    return text += '+';
  }
  if (word == "MIXED" && state.has(NodeFlag::kPlanned)) text += '-';
  return text;
}

// Words of sinfo's that are not names of a base or flag.
bool add_sinfo_word(NodeState& state, std::string_view word) {
  struct Word {
    std::string_view text;
    NodeState meaning;
  };
  static constexpr std::array kWords = std::to_array<Word>({
      {"ALLOC", NodeBase::kAllocated},
      {"MIX", NodeBase::kMixed},
      {"COMP", {NodeBase::kIdle, {NodeFlag::kCompleting}}},
      {"COMPLETING", {NodeBase::kIdle, {NodeFlag::kCompleting}}},
      {"DRAINED", {NodeBase::kIdle, {NodeFlag::kDrain}}},
      {"DRAINING", {NodeBase::kMixed, {NodeFlag::kDrain}}},
      {"DRNG", {NodeBase::kMixed, {NodeFlag::kDrain}}},
      {"FAILING", {NodeBase::kMixed, {NodeFlag::kFail}}},
      {"FAILG", {NodeBase::kMixed, {NodeFlag::kFail}}},
      {"RESERVED", {NodeBase::kIdle, {NodeFlag::kReserved}}},
      {"RESV", {NodeBase::kIdle, {NodeFlag::kReserved}}},
      {"PLANNED", {NodeBase::kIdle, {NodeFlag::kPlanned}}},
      {"PLND", {NodeBase::kIdle, {NodeFlag::kPlanned}}},
      {"BLOCKED", {NodeBase::kIdle, {NodeFlag::kBlocked}}},
      {"MAINT", {NodeBase::kIdle, {NodeFlag::kMaintenance}}},
      {"REBOOT", {NodeBase::kIdle, {NodeFlag::kRebootRequested}}},
      {"INVAL", {NodeBase::kNone, {NodeFlag::kInvalidReg}}},
  });
  for (const Word& known : kWords) {
    if (!equals_ignore_case(known.text, word)) continue;
    state = known.meaning;
    return true;
  }
  return false;
}

template <class State>
bool read_names(json::Reader& reader, State& out) {
  State state;
  std::string_view name;
  if (reader.kind() == json::Reader::Kind::kString) {
    if (!reader.read(name)) return false;
    state.add_name(name);
  } else if (!reader.array([&] {
               if (reader.read(name)) state.add_name(name);
             })) {
    return false;
  }
  out = state;
  return true;
}

}  // namespace

void NodeState::add_name(std::string_view name) {
  if (const auto base = find_name(kNodeBases, name)) {
    if (base_ == Base::kNone) base_ = *base;
    return;
  }
  add(find_name(kNodeFlags, name).value_or(Flag::kOther));
}

std::vector<std::string_view> NodeState::names() const {
  std::vector<std::string_view> names;
  for (const auto& [base, text] : kNodeBases) {
    if (base == base_) names.push_back(text);
  }
  for (const auto& [flag, text] : kNodeFlags) {
    if (has(flag)) names.push_back(text);
  }
  return names;
}

std::string NodeState::to_string() const { return join_names(names(), '+'); }

std::string NodeState::short_text() const {
  const bool allocated = base_ == Base::kAllocated || base_ == Base::kMixed;
  if (has(Flag::kInvalidReg)) return "INVAL";
  if (has(Flag::kMaintenance) && !has(Flag::kDrain) && !allocated && base_ != Base::kDown) {
    return has(Flag::kNotResponding) ? "MAINT*" : "MAINT";
  }
  if (is_rebooting() && !allocated) {
    if (has(Flag::kRebootIssued)) return "REBOOT^";
    return has(Flag::kNotResponding) ? "REBOOT*" : "REBOOT";
  }
  if (has(Flag::kDrain)) return with_suffix(is_busy() ? "DRAINING" : "DRAINED", *this);
  if (has(Flag::kFail)) {
    const std::string word = is_busy() ? "FAILING" : "FAIL";
    return has(Flag::kNotResponding) ? word + '*' : word;
  }
  if (has(Flag::kCompleting) && base_ != Base::kDown && base_ != Base::kAllocated) {
    return with_suffix("COMPLETING", *this);
  }
  std::string_view word = "UNKNOWN";
  for (const auto& [base, text] : kNodeBases) {
    if (base == base_) word = text;
  }
  std::string text = with_suffix(word, *this);
  if (text != "IDLE") return text;
  if (has(Flag::kReserved)) return "RESERVED";
  if (has(Flag::kBlocked)) return "BLOCKED";
  return has(Flag::kPlanned) ? "PLANNED" : text;
}

bool read(json::Reader& reader, NodeState& out) { return read_names(reader, out); }

Result<NodeState> parse_node_state(std::string_view text) {
  NodeState state;
  std::string_view word = text;
  std::optional<NodeFlag> suffix;
  for (const auto& [flag, sign] : kSuffixes) {
    if (!word.empty() && word.back() == sign) suffix = flag;
  }
  bool completing = false;
  if (suffix) {
    word.remove_suffix(1);
  } else if (word.ends_with('+')) {
    completing = true;
    word.remove_suffix(1);
  } else if (word.ends_with('-')) {
    suffix = NodeFlag::kPlanned;
    word.remove_suffix(1);
  }
  if (!add_sinfo_word(state, word)) {
    for (const std::string_view name : split(word, '+')) state.add_name(name);
  }
  if (state.has(NodeFlag::kOther)) {
    return fail(Code::kInvalid, quoted(text) + " is not a node state of Slurm's");
  }
  if (suffix) state.add(*suffix);
  if (completing) state.add(NodeFlag::kCompleting);
  return state;
}

void JobState::add_name(std::string_view name) {
  for (std::size_t i = 1; i < kJobBases.size(); ++i) {
    if (!is_called(kJobBases[i].text, name)) continue;
    if (base_ == Base::kNone) base_ = static_cast<Base>(i);
    return;
  }
  for (std::size_t i = 0; i < kJobFlags.size(); ++i) {
    if (is_called(kJobFlags[i].text, name)) return add(static_cast<Flag>(i));
  }
  add(Flag::kOther);
}

JobState::Ending JobState::ending() const {
  if (!has_ended()) return Ending::kNone;
  switch (base_) {
    case Base::kCompleted:
      return Ending::kSuccess;
    case Base::kCancelled:
      return Ending::kPerson;
    case Base::kTimeout:
    case Base::kDeadline:
      return Ending::kLimit;
    case Base::kFailed:
      return has(Flag::kLaunchFailed) ? Ending::kCluster : Ending::kItself;
    case Base::kOutOfMemory:
      return Ending::kItself;
    case Base::kNodeFail:
    case Base::kPreempted:
    case Base::kBootFail:
      return Ending::kCluster;
    case Base::kNone:
    case Base::kPending:
    case Base::kRunning:
    case Base::kSuspended:
      break;
  }
  return Ending::kNone;
}

std::vector<std::string_view> JobState::names() const {
  std::vector<std::string_view> names;
  if (base_ != Base::kNone) names.push_back(kJobBases[static_cast<std::size_t>(base_)].text);
  for (std::size_t i = 0; i < kJobFlags.size(); ++i) {
    if (has(static_cast<Flag>(i))) names.push_back(kJobFlags[i].text);
  }
  return names;
}

std::string JobState::to_string() const { return join_names(names(), ','); }

namespace {

const JobName& shown(const JobState& state) {
  // Which flag squeue prefers over the base.
  static constexpr std::array kOrder = {
      JobFlag::kCompleting,  JobFlag::kStageOut, JobFlag::kConfiguring, JobFlag::kExpediting,
      JobFlag::kResizing,    JobFlag::kRequeued, JobFlag::kRequeueFed,  JobFlag::kRequeueHold,
      JobFlag::kSpecialExit, JobFlag::kStopped,  JobFlag::kRevoked,     JobFlag::kResvDelHold,
      JobFlag::kSignaling};
  for (const JobFlag flag : kOrder) {
    if (state.has(flag)) return kJobFlags[static_cast<std::size_t>(flag)];
  }
  return kJobBases[static_cast<std::size_t>(state.base())];
}

}  // namespace

std::string_view JobState::short_text() const { return shown(*this).text; }

std::string_view JobState::code() const {
  JobState state = *this;
  // squeue has no letters for this one and looks further.
  state.flags_ &= ~bit(Flag::kExpediting);
  return shown(state).code;
}

bool read(json::Reader& reader, JobState& out) { return read_names(reader, out); }

Result<JobState> parse_job_state(std::string_view text) {
  const auto by_code = [&](const JobName& name) { return equals_ignore_case(name.code, text); };
  if (const auto* it = std::find_if(kJobBases.begin() + 1, kJobBases.end(), by_code);
      it != kJobBases.end()) {
    return JobState(static_cast<JobBase>(it - kJobBases.begin()));
  }
  JobState state;
  if (const auto* it = std::find_if(kJobFlags.begin(), kJobFlags.end(), by_code);
      it != kJobFlags.end() && !text.empty()) {
    state.add(static_cast<JobFlag>(it - kJobFlags.begin()));
    return state;
  }
  const char separator = text.find('+') == std::string_view::npos ? ',' : '+';
  for (const std::string_view name : split(text, separator)) state.add_name(name);
  if (state.has(JobFlag::kOther)) {
    return fail(Code::kInvalid, quoted(text) + " is not a job state of Slurm's");
  }
  return state;
}

}  // namespace mainspring::slurm
