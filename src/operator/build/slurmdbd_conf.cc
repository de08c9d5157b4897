#include <string>

#include "api/names.h"
#include "operator/build/conf_text.h"
#include "operator/build/slurm_conf.h"
#include "slurm/conf_file.h"

namespace mainspring::op::build {
namespace {

// A '#' or a blank would cut a password short, a line break would begin another setting. The
// newline at the end that files bring along means nothing; it stays, as it always has, so that the
// same password gives the same text.
Result<std::string> password_line(std::string_view password) {
  const std::size_t end = password.find_last_not_of('\n') + 1;
  if (end == 0) return std::string("StoragePass=");
  slurm::ConfLine line;
  line.pairs.push_back({.key = "StoragePass", .value = std::string(password.substr(0, end))});
  auto text = slurm::render_conf(line);
  if (!text) {  // Its message repeats the value.
    return fail(Code::kInvalid,
                "the database's password has a line break, a control character or a quote, which "
                "slurmdbd.conf cannot hold; choose another");
  }
  return text->substr(0, text->size() - 1) + std::string(password.substr(end));
}

}  // namespace

Result<std::string> slurmdbd_conf(const api::Accounting& accounting, const Secret& password) {
  const api::StorageConfig& storage = accounting.spec.storage;
  ConfText::Options ours = {{"AuthAltParameters", {"jwt_key=/etc/slurm/jwt.key"}},
                            {"AuthInfo", {"use_client_ids"}}};
  if (accounting.spec.jwks_key_ref) {
    ours["AuthAltParameters"].emplace_back("jwks=/etc/slurm/jwks.json");
  }
  MS_TRY(const std::string password_text, password_line(password.reveal()));
  ConfText conf;
  conf.section("GENERAL");
  conf.set("DbdHost", api::accounting_name(accounting.meta.name) + "-0");
  conf.set("DbdPort", api::kSlurmdbdPort);
  conf.set("SlurmUser", "slurm");
  conf.section("PLUGINS & PARAMETERS");
  conf.set("AuthType", "auth/slurm");
  conf.set("AuthAltTypes", "auth/jwt");
  conf.set("AuthAltParameters", join_options(ours["AuthAltParameters"]));
  conf.set("AuthInfo", join_options(ours["AuthInfo"]));
  conf.section("STORAGE");
  conf.set("StorageType", "accounting_storage/mysql");
  conf.set("StorageHost", storage.host);
  conf.set("StoragePort", storage.port);
  // Slurm cannot read a key without a value. Without the key it is the user that slurmdbd runs as.
  if (!storage.username.empty()) conf.set("StorageUser", storage.username);
  conf.set("StorageLoc", storage.database);
  conf.line(password_text);
  conf.section("LOGGING");
  conf.set("LogFile", "/dev/null");
  conf.extra(accounting.spec.extra_conf, ours);
  return conf.text();
}

}  // namespace mainspring::op::build
