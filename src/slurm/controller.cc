// slurm/controller.cc
#include "slurm/controller.h"

namespace mainspring::slurm {
namespace {

struct Parts {
  bool set = true;
  bool infinite = false;
  double number = 0;
};
constexpr auto kParts =
    json::fields(json::field("set", &Parts::set), json::field("infinite", &Parts::infinite),
                 json::field("number", &Parts::number));

}  // namespace

void read_real(json::Reader& reader, std::optional<double>& out) {
  Parts parts;
  const bool read = reader.kind() == json::Reader::Kind::kObject
                        ? json::read_fields<kParts>(reader, parts)
                        : reader.read(parts.number);
  if (!read) return;
  out = parts.set && !parts.infinite ? std::optional(parts.number) : std::nullopt;
}

}  // namespace mainspring::slurm
