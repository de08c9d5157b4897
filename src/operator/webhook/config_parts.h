// operator/webhook/config_parts.h
//
// What a Controller's configuration is made of, read from the API server at the moment of asking: a
// webhook must not judge by a cache that is behind what the user has just created. Reading is short
// and bounded; who cannot read says so, and the caller decides what that means.
//
// Lives on the serving loop, with the client handed in; it never touches the control loop's stores.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kube/api.h"
#include "operator/build/slurm_conf.h"

namespace mainspring::op {

using net::Task;

struct ConfigParts {
  std::shared_ptr<const api::Accounting> accounting;  // Null where there is none.
  std::vector<std::shared_ptr<const api::NodeSet>>
      nodesets;  // Without those that are being deleted.
  std::map<std::string, std::shared_ptr<const kube::ConfigMap>> config_maps;  // Those that exist.

  // `controller` must outlive what is given.
  build::SlurmConfInputs inputs(const api::Controller& controller) const;
  void put(std::shared_ptr<const kube::ConfigMap> map);
  // In place of the one of that name; null leaves it out.
  void put_nodeset(const std::string& name, std::shared_ptr<const api::NodeSet> nodeset);
};

// `config_maps`: names to be read, of all versions of the Controller that are compared. The client
// must outlive the task.
Task<Result<ConfigParts>> read_config_parts(kube::Client* client,
                                            std::shared_ptr<const api::Controller> controller,
                                            std::set<std::string> config_maps);

// Null where there is none of that name.
template <class T>
Task<Result<std::shared_ptr<const T>>> get_if_there(kube::Client* client, std::string ns,
                                                    std::string name) {
  auto got = co_await kube::Api<T>(*client, std::move(ns)).get(std::move(name));
  if (got) co_return std::make_shared<const T>(*std::move(got));
  if (got.error().code() == Code::kNotFound) co_return std::shared_ptr<const T>();
  co_return fail(std::move(got).error());
}

}  // namespace mainspring::op
