#include "slurm/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "base/text.h"
#include "http/not_sent.h"
#include "slurm/error_code.h"

namespace mainspring::slurm {
namespace {

// Sentences by which Slurm says that there was nothing to act upon: in a warning to a 200, or in an
// error whose number says something else.
struct Nothing {
  std::string_view sentence;
  Errno number;
};
constexpr std::array kNothing = {
    // GET partition: a warning since 25.05, an error 9000 before.
    Nothing{"Unable to find partition", Errno::kInvalidPartition},
    Nothing{"() found nothing", Errno::kNone},            // slurmdb
    Nothing{"() reports nothing changed", Errno::kNone},  // slurmdb
};
constexpr std::array<std::string_view, 2> kNoChange = {
    "No job changes since update_time",
    "No config changes since update_time",
};

// Foreign text for a message: one line, printable, bounded.
std::string plain(std::string_view text) {
  constexpr std::size_t kLimit = 512;
  std::string out = sanitize_utf8(text.substr(0, kLimit));
  std::replace_if(
      out.begin(), out.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  if (text.size() > kLimit) out += "...";
  return std::string(trim(out));
}

// An object of a status or results list, in one of two shapes, or a list of them.
void read_outcomes(json::Reader& reader, std::vector<JobOutcome>& out) {
  if (reader.kind() == json::Reader::Kind::kArray) {
    reader.array([&] { read_outcomes(reader, out); });
    return;
  }
  if (reader.kind() != json::Reader::Kind::kObject) return;
  JobOutcome outcome;
  std::int64_t id = 0;
  reader.object([&](std::string_view key) {
    const auto kind = reader.kind();
    if (key == "step_id" && kind == json::Reader::Kind::kString) {
      reader.read(outcome.job);
    } else if (key == "job_id" && kind == json::Reader::Kind::kNumber) {
      reader.read(id);
    } else if (key == "error_code") {
      reader.read(outcome.number);
    } else if (key == "error" && kind == json::Reader::Kind::kString) {
      reader.read(outcome.error);
    } else if (key == "error" && kind == json::Reader::Kind::kObject) {
      reader.object([&](std::string_view part) {
        if (part == "code") reader.read(outcome.number);
        if (part == "string") reader.read(outcome.error);
      });
    }
  });
  if (outcome.job.empty() && id != 0) outcome.job = std::to_string(id);
  out.push_back(std::move(outcome));
}

void read_last_update(json::Reader& reader, Envelope& out) {
  if (reader.kind() == json::Reader::Kind::kNumber) {
    reader.read(out.last_update);
  } else if (reader.kind() == json::Reader::Kind::kObject) {
    reader.object([&](std::string_view key) {
      if (key == "number") reader.read(out.last_update);
    });
  }
}

void read_meta(json::Reader& reader, Envelope& out) {
  reader.object([&](std::string_view key) {
    if (key != "slurm") return;
    reader.object([&](std::string_view part) {
      if (part == "release") reader.read(out.release);
      if (part == "cluster") reader.read(out.cluster);
    });
  });
}

// The complaint that says most: the first with a number, else the first.
const Complaint* main_complaint(const std::vector<Complaint>& errors) {
  if (errors.empty()) return nullptr;
  const auto numbered = std::find_if(errors.begin(), errors.end(),
                                     [](const Complaint& each) { return each.number != 0; });
  return numbered == errors.end() ? &errors.front() : &*numbered;
}

Code code_by_status(Endpoint endpoint, int status, const Complaint* complaint) {
  if (status == 502 || status == 503 || status == 504 || status == 408) return Code::kTransient;
  switch (status) {
    case 401:
    case 407:
    case 511:
      return Code::kUnauthorized;
    case 403:
      return Code::kForbidden;
    case 404:
      return complaint != nullptr ? Code::kNotFound : Code::kUnsupported;
    case 405:
    case 406:
    case 415:
    case 501:
      return Code::kUnsupported;
    case 413:
    case 414:
    case 431:
      return Code::kTooLarge;
    case 429:
      return Code::kThrottled;
    default:
      break;
  }
  if (complaint == nullptr) return status >= 400 && status < 500 ? Code::kInvalid : Code::kInternal;
  // slurmctld answered and had no such record: a missing node or reservation is "No error".
  const bool reads_one = names_one_thing(endpoint) && info(endpoint).effect == Effect::kRead;
  if (status < 300 && complaint->number == 0 && reads_one) return Code::kNotFound;
  return complaint->number > 0 || status < 500 ? Code::kInvalid : Code::kInternal;
}

Error make_error(Code code, int status, const Complaint& complaint, std::string message) {
  auto detail = std::make_shared<SlurmError>();
  detail->number = complaint.number;
  detail->text = complaint.error;
  detail->description = complaint.description;
  detail->source = complaint.source;
  detail->http_status = status;
  return Error(code, std::move(message)).with_detail(std::move(detail));
}

std::string sentence_of(const Complaint& complaint) {
  const std::string doing = plain(complaint.description);
  if (complaint.number == 0) return doing.empty() ? "refused without a reason" : doing;
  const std::string named =
      fmt::format("{} (Slurm error {})", plain(complaint.error), complaint.number);
  return doing.empty() ? named : doing + ": " + named;
}

Error refusal(Endpoint endpoint, int status, const Complaint& complaint, const Envelope& envelope) {
  const auto known = code_of(endpoint, complaint.number);
  std::string message = sentence_of(complaint);
  // A field that Slurm did not know is often why it then refused.
  constexpr std::size_t kWarnings = 2;
  for (std::size_t i = 0; i < std::min(kWarnings, envelope.warnings.size()); ++i) {
    if (envelope.warnings[i].description.empty()) continue;
    message += "; " + plain(envelope.warnings[i].description);
  }
  return make_error(known.value_or(code_by_status(endpoint, status, &complaint)), status, complaint,
                    std::move(message));
}

// An answer that is not one of slurmrestd's handlers': its own text, or a proxy's page.
Error foreign_answer(Endpoint endpoint, int status, std::string_view body) {
  Complaint nothing;
  if (status == 511) nothing.number = static_cast<std::int32_t>(Errno::kAuthentication);
  std::string message = fmt::format("slurmrestd answered {}", status);
  if (status == 401 || status == 511) message += ": it does not accept the token";
  if (status < 300) message += " with something that is not JSON";
  if (const std::string text = plain(body.substr(0, 256)); !text.empty()) message += ": " + text;
  return make_error(code_by_status(endpoint, status, nullptr), status, nothing, std::move(message));
}

Result<void> judge_outcomes(Endpoint endpoint, int status, const Envelope& envelope) {
  // Calls on many jobs may succeed for some: their callers look at each.
  if (!names_one_thing(endpoint) && endpoint != Endpoint::kRequeueJob) return {};
  const auto& all = envelope.outcomes;
  const auto bad =
      std::find_if(all.begin(), all.end(), [](const JobOutcome& each) { return each.number != 0; });
  if (bad == all.end()) return {};
  return fail(refusal(endpoint, status, {.number = bad->number, .error = bad->error}, envelope));
}

// Whether one of the sentences stands here, for a call that named one thing.
std::optional<Error> nothing_found(Endpoint endpoint, int status,
                                   const std::vector<Complaint>& complaints) {
  if (!names_one_thing(endpoint)) return std::nullopt;
  for (const Complaint& each : complaints) {
    for (const Nothing& nothing : kNothing) {
      if (each.description.find(nothing.sentence) == std::string::npos) continue;
      Complaint complaint = each;
      complaint.number = static_cast<std::int32_t>(nothing.number);
      return make_error(Code::kNotFound, status, complaint, plain(each.description));
    }
  }
  return std::nullopt;
}

}  // namespace

const SlurmError* slurm_error(const Error& error) { return error.detail<SlurmError>(); }

bool refused_with(const Error& error, Errno number) {
  const SlurmError* slurm = slurm_error(error);
  return slurm != nullptr && slurm->number == static_cast<std::int32_t>(number);
}

bool may_start_later(const Error& error) {
  constexpr Errno kLater[] = {
      Errno::kPartitionImpossible, Errno::kDependency,           Errno::kJobHeld,
      Errno::kAccountingPolicy,    Errno::kReservationNotUsable, Errno::kQosThreshold};
  // ESLURM_TOPO_*: no nodes near enough to each other.
  constexpr std::int32_t kFirstTopology = 7200;
  constexpr std::int32_t kLastTopology = 7300;
  const SlurmError* slurm = slurm_error(error);
  if (error.code() == Code::kThrottled) return true;
  if (slurm == nullptr) return false;
  return (slurm->number >= kFirstTopology && slurm->number <= kLastTopology) ||
         std::any_of(std::begin(kLater), std::end(kLater),
                     [&](Errno number) { return refused_with(error, number); });
}

bool may_have_been_sent(const Error& error) { return !http::was_not_sent(error); }

bool asks_for_patience(const Error& error) {
  const SlurmError* slurm = slurm_error(error);
  return refused_with(error, Errno::kBackoff) || refused_with(error, Errno::kHardDrop) ||
         (slurm != nullptr && slurm->http_status == 429);
}

bool read(json::Reader& reader, Envelope& out) {
  return reader.object([&](std::string_view key) {
    if (key == "errors") {
      json::read(reader, out.errors);
    } else if (key == "warnings") {
      json::read(reader, out.warnings);
    } else if (key == "meta") {
      read_meta(reader, out);
    } else if (key == "last_update") {
      read_last_update(reader, out);
    } else if ((key == "status" || key == "results") &&
               reader.kind() == json::Reader::Kind::kArray) {
      read_outcomes(reader, out.outcomes);
    }
  });
}

Envelope envelope_of(json::Reader& reader, std::string_view body) {
  Envelope envelope;
  reader.open(body);
  const bool object = reader.kind() == json::Reader::Kind::kObject && read(reader, envelope);
  // Half of an envelope says nothing that could be relied upon.
  if (!reader.finish() || !object) return {};
  envelope.understood = true;
  return envelope;
}

Result<void> judge(Endpoint endpoint, int http_status, const Envelope& envelope,
                   std::string_view body) {
  if (http_status == 304 || http_status == 204) return {};
  if (!envelope.understood) return fail(foreign_answer(endpoint, http_status, body));
  if (const Complaint* complaint = main_complaint(envelope.errors)) {
    if (auto nothing = nothing_found(endpoint, http_status, envelope.errors)) {
      return fail(*std::move(nothing));
    }
    return fail(refusal(endpoint, http_status, *complaint, envelope));
  }
  if (http_status < 200 || http_status >= 300) {
    return fail(foreign_answer(endpoint, http_status, body));
  }
  MS_CHECK(judge_outcomes(endpoint, http_status, envelope));
  if (auto nothing = nothing_found(endpoint, http_status, envelope.warnings)) {
    return fail(*std::move(nothing));
  }
  return {};
}

Error outcome_error(Endpoint endpoint, const JobOutcome& outcome) {
  const Complaint complaint{.number = outcome.number, .error = outcome.error};
  return refusal(endpoint, 200, complaint, {}).with_context("job " + outcome.job);
}

Error no_list(std::string_view name) {
  return {Code::kInternal, fmt::format("the answer of slurmrestd has no list {}", quoted(name))};
}

bool is_unknown_path(int http_status, const Envelope& envelope) {
  return http_status == 404 && !envelope.understood;
}

bool is_unchanged(int http_status, const Envelope& envelope) {
  if (http_status == 304) return true;
  return http_status == 200 &&
         std::any_of(envelope.warnings.begin(), envelope.warnings.end(), [](const auto& warning) {
           return std::any_of(kNoChange.begin(), kNoChange.end(), [&](std::string_view sentence) {
             return warning.description.starts_with(sentence);
           });
         });
}

}  // namespace mainspring::slurm
