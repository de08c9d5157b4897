#include "kube/compact.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

namespace mainspring::kube {

namespace {

constexpr std::size_t kHead = sizeof(std::uint32_t);

// A word laid out as Text keeps its own.
struct Word {
  static constexpr std::size_t kMaxSize = 43;
  std::uint32_t size;
  char text[kMaxSize + 1];

  consteval Word(std::string_view word) : size(static_cast<std::uint32_t>(word.size())), text() {
    for (std::size_t i = 0; i < word.size(); ++i) text[i] = word[i];
  }
  constexpr std::string_view view() const { return {text, size}; }
};

constexpr Word kWords[] = {
    // Conditions and their reasons.
    {"Ready"},
    {"Initialized"},
    {"ContainersReady"},
    {"PodScheduled"},
    {"PodReadyToStartContainers"},
    {"DisruptionTarget"},
    {"Unschedulable"},
    {"SchedulingGated"},
    {"ContainersNotReady"},
    {"ContainersNotInitialized"},
    {"PodCompleted"},
    {"PodFailed"},
    {"MemoryPressure"},
    {"DiskPressure"},
    {"PIDPressure"},
    {"NetworkUnavailable"},
    {"KubeletReady"},
    {"KubeletNotReady"},
    {"KubeletHasSufficientMemory"},
    {"KubeletHasNoDiskPressure"},
    {"KubeletHasSufficientPID"},
    {"NodeStatusUnknown"},
    {"Available"},
    {"Progressing"},
    {"NewReplicaSetAvailable"},
    {"MinimumReplicasAvailable"},
    {"SlurmNodeStateIdle"},
    {"SlurmNodeStateAllocated"},
    {"SlurmNodeStateMixed"},
    {"SlurmNodeStateDown"},
    {"SlurmNodeStateDrain"},
    {"SlurmNodeStateCompleting"},
    // Why a container is in its state.
    {"ContainerCreating"},
    {"PodInitializing"},
    {"CrashLoopBackOff"},
    {"ImagePullBackOff"},
    {"ErrImagePull"},
    {"Completed"},
    {"Error"},
    {"OOMKilled"},
    {"Evicted"},
    // Taints, topology, schedulers, priorities, volumes.
    {"node.kubernetes.io/not-ready"},
    {"node.kubernetes.io/unreachable"},
    {"node.kubernetes.io/disk-pressure"},
    {"node.kubernetes.io/memory-pressure"},
    {"node.kubernetes.io/pid-pressure"},
    {"node.kubernetes.io/unschedulable"},
    {"node.kubernetes.io/network-unavailable"},
    {"node-role.kubernetes.io/control-plane"},
    {"slinky.slurm.net/managed-node"},
    {"kubernetes.io/hostname"},
    {"topology.kubernetes.io/zone"},
    {"metadata.name"},
    {"default-scheduler"},
    {"slurm-bridge-scheduler"},
    {"default"},
    {"system-node-critical"},
    {"system-cluster-critical"},
    {"kube-root-ca.crt"},
    {"true"},
    {"slurmd"},
    {"slurmctld"},
    {"logfile"},
    {"slurm-etc"},
    {"slurm-logfile"},
};

// Open addressing, filled by the compiler.
class WordTable {
 public:
  consteval WordTable() : slots_() {
    slots_.fill(kNone);
    for (std::size_t i = 0; i < std::size(kWords); ++i) {
      std::size_t slot = first_slot(kWords[i].view());
      while (slots_[slot] != kNone) slot = (slot + 1) % kSlots;
      slots_[slot] = static_cast<std::uint8_t>(i);
    }
  }

  const Word* find(std::string_view text) const {
    for (std::size_t slot = first_slot(text); slots_[slot] != kNone; slot = (slot + 1) % kSlots) {
      if (kWords[slots_[slot]].view() == text) return &kWords[slots_[slot]];
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t kSlots = 512;
  static constexpr std::uint8_t kNone = 255;
  static_assert(std::size(kWords) < kNone);

  static constexpr std::size_t first_slot(std::string_view text) {
    return json::key_hash(text.data(), text.size(), 0x9E3779B1) % kSlots;
  }

  std::array<std::uint8_t, kSlots> slots_;
};
constexpr WordTable kTable;

bool in_table(const char* block) {
  const char* const first = reinterpret_cast<const char*>(std::begin(kWords));
  const char* const last = reinterpret_cast<const char*>(std::end(kWords));
  return !std::less<>()(block, first) && std::less<>()(block, last);
}

}  // namespace

Text::Text(std::string_view text) {
  if (text.empty()) return;
  if (const Word* word = kTable.find(text); word != nullptr) {
    block_ = reinterpret_cast<const char*>(word);
    return;
  }
  char* const block = new char[kHead + text.size()];
  const auto size = static_cast<std::uint32_t>(text.size());
  std::memcpy(block, &size, kHead);
  std::memcpy(block + kHead, text.data(), text.size());
  block_ = block;
}

std::string_view Text::view() const {
  if (block_ == nullptr) return {};
  std::uint32_t size = 0;
  std::memcpy(&size, block_, kHead);
  return {block_ + kHead, size};
}

void Text::release() noexcept {
  if (!in_table(block_)) delete[] block_;
}

bool read(json::Reader& reader, Text& out) {
  std::string_view text;
  if (!reader.read(text)) return false;
  out = Text(text);
  return true;
}

}  // namespace mainspring::kube
