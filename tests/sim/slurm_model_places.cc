// The model's reservations and partitions: who may have which nodes.
#include <algorithm>

#include "sim/slurm_model.h"

namespace mainspring::sim {

SlurmModel::Refused SlurmModel::write_reservation(SlurmReservation reservation) {
  for (const std::string& name : reservation.nodes) {
    if (node(name) == nullptr) {
      return SlurmRefusal{2018, "Invalid node name specified",
                          "Error creating reservation " + reservation.name,
                          "slurm_create_reservation"};
    }
    if (node(name)->running > 0) {
      return SlurmRefusal{2016, "Requested nodes are busy",
                          "Error creating reservation " + reservation.name,
                          "slurm_create_reservation"};
    }
  }
  for (const auto& [name, other] : reservations_) {
    if (name == reservation.name) continue;
    const bool overlaps = std::any_of(
        reservation.nodes.begin(), reservation.nodes.end(), [&](const std::string& node) {
          return std::find(other.nodes.begin(), other.nodes.end(), node) != other.nodes.end();
        });
    if (overlaps) {
      return SlurmRefusal{2058, "Requested reservation overlaps with another reservation",
                          "Error updating reservation " + reservation.name,
                          "slurm_update_reservation"};
    }
  }
  reservations_changed_ = seconds_now();
  node_changed();
  reservations_[reservation.name] = std::move(reservation);
  return std::nullopt;
}

SlurmModel::Refused SlurmModel::delete_reservation(const std::string& name) {
  if (reservations_.erase(name) == 0) {
    return SlurmRefusal{2053, "Requested reservation is invalid",
                        "Error deleting reservation " + name, "slurm_delete_reservation"};
  }
  reservations_changed_ = seconds_now();
  node_changed();
  return std::nullopt;
}

SlurmModel::Refused SlurmModel::create_partition(SlurmPartition made) {
  for (const std::string& name : made.names) {
    if (node(name) == nullptr) {
      return SlurmRefusal{2018, "Invalid node name specified",
                          "Failed to update partition " + made.name, "slurm_update_partition"};
    }
  }
  made.from_rest = true;
  std::erase_if(partitions_, [&](const SlurmPartition& one) { return one.name == made.name; });
  partitions_.push_back(std::move(made));
  partitions_changed_ = seconds_now();
  return std::nullopt;
}

SlurmModel::Refused SlurmModel::delete_partition(const std::string& name) {
  const bool in_use = std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& one) {
    return one.second.partition == name && !one.second.over();
  });
  if (in_use) {
    return SlurmRefusal{2075, "Partition is in use", "Unable to delete partition",
                        "slurm_delete_partition()"};
  }
  if (std::erase_if(partitions_, [&](const SlurmPartition& one) { return one.name == name; }) ==
      0) {
    return SlurmRefusal{2000, "Invalid partition name specified",
                        "Failure to delete partition " + name, "op_handler_partition"};
  }
  partitions_changed_ = seconds_now();
  return std::nullopt;
}

}  // namespace mainspring::sim
