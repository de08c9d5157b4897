#include "kube/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "kube/kubeconfig.h"

namespace mainspring::kube {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

// The smallest good file, with parts that a test replaces.
std::string kubeconfig(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
         "contexts:\n- name: a\n  context: {cluster: c, user: b, namespace: team}\n"
         "clusters:\n- name: c\n  cluster: " +
         cluster + "\nusers:\n- name: b\n  user: " + user + "\n";
}

Result<Config> resolve(const std::string& text, std::string_view context = {}) {
  MS_TRY(const Kubeconfig parsed, parse_kubeconfig(text, "/x/config"));
  return resolve_kubeconfig(parsed, context);
}

std::string error_of(const std::string& text, std::string_view context = {}) {
  const auto config = resolve(text, context);
  return config ? "no error" : config.error().to_string();
}

constexpr const char* kServer = "{server: 'https://127.0.0.1:6443'}";

TEST(Kubeconfig, ReadsServerNamespaceAndToken) {
  const auto config = resolve(kubeconfig(kServer, "{token: t0ken}"));
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_EQ(config->server.to_string(), "https://127.0.0.1:6443/");
  EXPECT_EQ(config->ns, "team");
  EXPECT_EQ(config->token.reveal(), "t0ken");
  EXPECT_EQ(config->origin, "kubeconfig /x/config");
}

TEST(Kubeconfig, ReadsEveryPartOfACluster) {
  const auto config =
      resolve(kubeconfig("{server: 'https://gw/k8s/clusters/c-1/', certificate-authority: "
                         "pki/ca.crt, tls-server-name: "
                         "kube, proxy-url: 'http://u:p@proxy:3128', disable-compression: true}",
                         "{}"));
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_EQ(config->server.path, "/k8s/clusters/c-1");
  EXPECT_EQ(config->ca.file, "/x/pki/ca.crt");
  EXPECT_EQ(config->tls_server_name, "kube");
  EXPECT_EQ(config->proxy_url.reveal(), "http://u:p@proxy:3128");
}

TEST(Kubeconfig, DataIsBase64AndPathsAreRelativeToTheFile) {
  const auto config = resolve(
      kubeconfig("{server: 'https://s', certificate-authority-data: \"cG\\nVt\"}",
                 "{client-certificate-data: Y2VydA==, client-key: ../key, tokenFile: /abs/token}"));
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_EQ(config->ca.text.reveal(), "pem");
  EXPECT_EQ(config->client_cert.text.reveal(), "cert");
  EXPECT_EQ(config->client_key.file, "/key");
  EXPECT_EQ(config->token_file, "/abs/token");
}

TEST(Kubeconfig, ReadsExecPluginAndImpersonation) {
  const auto config = resolve(kubeconfig(
      "{server: 'https://s', extensions: [{name: client.authentication.k8s.io/exec, extension: "
      "{audience: x}}]}",
      "{as: root, as-groups: [g, h], as-user-extra: {scopes: [one, two]}, exec: {apiVersion: "
      "client.authentication.k8s.io/v1, command: bin/aws, args: [eks, get-token], env: [{name: A, "
      "value: '1'}], provideClusterInfo: true, interactiveMode: Never}}"));
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  ASSERT_TRUE(config->exec.has_value());
  EXPECT_EQ(config->exec->command, "/x/bin/aws");
  EXPECT_THAT(config->exec->args, ElementsAre("eks", "get-token"));
  EXPECT_THAT(config->exec->env, ElementsAre(Pair("A", "1")));
  EXPECT_EQ(json::to_text(config->exec->cluster_config), R"({"audience":"x"})");
  EXPECT_EQ(config->impersonate.user, "root");
  EXPECT_THAT(config->impersonate.extra, ElementsAre(Pair("scopes", "one"), Pair("scopes", "two")));
  // A bare name is looked for in PATH, not in the file's folder.
  const auto bare = resolve(kubeconfig(
      kServer, "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws}}"));
  EXPECT_EQ(bare->exec->command, "aws");
}

TEST(Kubeconfig, ErrorsNameFileFieldAndWhatToDo) {
  const std::string good = kubeconfig(kServer, "{}");
  auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(
      error_of(replaced("user: b", "user: z")),
      "kubeconfig /x/config: context \"a\" names user \"z\", which is not in users: add it or "
      "change contexts[a].context.user");
  EXPECT_EQ(
      error_of(replaced("cluster: c,", "")),
      "kubeconfig /x/config: context \"a\" names no cluster: set contexts[a].context.cluster");
  EXPECT_EQ(error_of(good, "prod"),
            "kubeconfig /x/config: context \"prod\" is not in contexts: use one of \"a\"");
  EXPECT_EQ(error_of(replaced("current-context: a\n", "")),
            "kubeconfig /x/config: current-context is not set: set it, or ask for one of \"a\"");
  EXPECT_EQ(error_of("{}"),
            "kubeconfig /x/config: there are no contexts: add one that names a cluster and a user");
  EXPECT_EQ(error_of("[]"), "kubeconfig /x/config: the file: expected a mapping, found a list");
  EXPECT_EQ(error_of("kind: Pod"),
            "kubeconfig /x/config: kind: \"Pod\" is no kubeconfig, which is a \"Config\"");
  EXPECT_EQ(error_of("a: [\n"),
            "kubeconfig /x/config: line 2, column 1: flow sequence without a closing bracket");
  EXPECT_EQ(error_of("users: [{name: b}, {name: b}]"),
            "kubeconfig /x/config: users[1]: the name \"b\" comes twice");
}

TEST(Kubeconfig, ErrorsInAClusterNameTheField) {
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "clusters[c].cluster.server is not set: give the API server's URL"},
      {"{server: 'https://s', insecure-skip-tls-verify: 'true'}",
       "clusters[0].cluster.insecure-skip-tls-verify: expected true or false, found a string"},
      {"{server: 'https://s', insecure-skip-tls-verify: true, certificate-authority: a}",
       "clusters[c].cluster has insecure-skip-tls-verify and a certificate authority: keep one"},
      {"{server: 'https://s', certificate-authority: a, certificate-authority-data: YQ==}",
       "clusters[c].cluster.certificate-authority and "
       "clusters[c].cluster.certificate-authority-data are both set: keep one"},
      {"{server: 'https://s', proxy-url: 'socks5://me:hunter2@p'}",
       "clusters[c].cluster.proxy-url cannot be used: give http://host:port or https://host:port"},
  };
  for (const auto& [cluster, message] : cases) {
    EXPECT_EQ(error_of(kubeconfig(cluster, "{}")), std::string("kubeconfig /x/config: ") + message);
  }
}

TEST(Kubeconfig, ErrorsInAUserNameTheFieldAndNoSecret) {
  const std::string v1 = "apiVersion: client.authentication.k8s.io/v1, ";
  const std::pair<std::string, std::string> cases[] = {
      {"{token: 12345}",
       "users[0].user.token: expected a string, found a number: put it in quotes"},
      {"{token: hunter2, username: u}",
       "users[b].user has more than one of token, username and exec: keep one of them"},
      {"{client-certificate: c}",
       "users[b].user has a client certificate without a client key: give both"},
      {"{client-key-data: 'hunter2!'}",
       "users[b].user.client-key-data: base64: byte 0x21 at position 7 is not of the standard "
       "alphabet: give the PEM "
       "text "
       "encoded in base64"},
      {"{as-groups: [g]}",
       "users[b].user has as-uid, as-groups or as-user-extra without as: set as"},
      {"{auth-provider: {name: gcp}}",
       "users[b].user.auth-provider was removed from Kubernetes in 1.26: use exec"},
      {"{exec: {" + v1 + "args: []}}",
       "users[b].user.exec.command is not set: name the program to run"},
      {"{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}}",
       "users[b].user.exec.apiVersion \"client.authentication.k8s.io/v1alpha1\" is not known: use "
       "client.authentication.k8s.io/v1 or .../v1beta1"},
      {"{exec: {" + v1 + "command: x, interactiveMode: Always}}",
       "users[b].user.exec.interactiveMode is Always, and there is no terminal here: use "
       "IfAvailable "
       "or Never, or another way to authenticate"},
  };
  for (const auto& [user, message] : cases) {
    const std::string error = error_of(kubeconfig(kServer, user));
    EXPECT_EQ(error, "kubeconfig /x/config: " + message);
    EXPECT_THAT(error, Not(HasSubstr("hunter2")));
  }
}

TEST(Kubeconfig, TheFirstFileThatHasAnEntryWinsAndEntriesAreNotMixed) {
  const auto first = parse_kubeconfig(
      "contexts: [{name: a, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: "
      "one}}]\n",
      "/one/config");
  const auto second = parse_kubeconfig(
      "current-context: a\nclusters: [{name: c, cluster: {server: 'https://s', "
      "certificate-authority: "
      "ca}}]\nusers: [{name: u, user: {username: x, password: pw}}]\n",
      "/two/config");
  const auto third = parse_kubeconfig("current-context: z\n", "/three/config");
  ASSERT_TRUE(first && second && third);
  const Kubeconfig merged = merge_kubeconfigs({*first, *second, *third});
  EXPECT_EQ(merged.users.size(), 1U);
  const auto config = resolve_kubeconfig(merged, "");
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_EQ(config->token.reveal(), "one");
  EXPECT_EQ(config->username, "");
  EXPECT_EQ(config->ca.file, "/two/ca");
  EXPECT_EQ(config->ns, "default");
  EXPECT_EQ(config->origin, "kubeconfig /one/config:/two/config:/three/config");
}

class LoadConfig : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mainspring-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    options.root = name;
    options.env = [this](std::string_view variable) -> std::optional<std::string> {
      const auto found = env.find(std::string(variable));
      return found == env.end() ? std::nullopt : std::optional(found->second);
    };
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string write(const fs::path& name, const std::string& text) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }

  void enter_pod() {
    env["KUBERNETES_SERVICE_HOST"] = "fd00::1";
    env["KUBERNETES_SERVICE_PORT"] = "443";
    write("var/run/secrets/kubernetes.io/serviceaccount/token", "t");
    write("var/run/secrets/kubernetes.io/serviceaccount/ca.crt", "ca");
    write("var/run/secrets/kubernetes.io/serviceaccount/namespace", "slurm\n");
  }

  fs::path folder;
  std::map<std::string, std::string> env;
  ConfigOptions options;
};

TEST_F(LoadConfig, KubeconfigNamesSeveralFilesAndMissingOnesAreSkipped) {
  env["KUBECONFIG"] = (folder / "absent").string() + "::" +
                      write("one",
                            "current-context: a\ncontexts: [{name: a, context: {cluster: c, "
                            "user: b}}]\n") +
                      ":" + write("two", kubeconfig(kServer, "{token: two}"));
  const auto config = load_config(options);
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_EQ(config->token.reveal(), "two");
  EXPECT_EQ(config->ns, "default");
}

TEST_F(LoadConfig, TheHomeFileComesBeforeTheServiceAccount) {
  enter_pod();
  env["HOME"] = folder.string();
  EXPECT_EQ(load_config(options)->server.host, "fd00::1");
  write(".kube/config", kubeconfig(kServer, "{}"));
  EXPECT_EQ(load_config(options)->server.host, "127.0.0.1");
}

TEST_F(LoadConfig, AFileGivenByHandMustExist) {
  options.kubeconfig = (folder / "absent").string();
  EXPECT_EQ(load_config(options).error().to_string(),
            "kubeconfig: " + options.kubeconfig + " does not exist");
}

TEST_F(LoadConfig, InAPodTheServiceAccountIsUsed) {
  enter_pod();
  const auto config = load_config(options);
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_EQ(config->server.to_string(), "https://[fd00::1]/");
  EXPECT_EQ(config->server.effective_port(), 443);
  EXPECT_EQ(config->ns, "slurm");
  EXPECT_EQ(config->token_file, folder / "var/run/secrets/kubernetes.io/serviceaccount/token");
  options.ns = "other";
  EXPECT_EQ(load_config(options)->ns, "other");
}

TEST_F(LoadConfig, APodWithoutATokenIsToldWhatToDo) {
  enter_pod();
  const fs::path token = folder / "var/run/secrets/kubernetes.io/serviceaccount/token";
  fs::remove(token);
  EXPECT_EQ(load_config(options).error().to_string(),
            "service account: " + token.string() +
                " does not exist: mount its token (automountServiceAccountToken: true), or set "
                "KUBECONFIG");
}

TEST_F(LoadConfig, WithNothingAtAllTheErrorSaysWhereItLooked) {
  env["HOME"] = "/nowhere";
  EXPECT_EQ(
      load_config(options).error().to_string(),
      "no kubeconfig and no service account: /nowhere/.kube/config is not there and "
      "KUBERNETES_SERVICE_HOST is not set. Set KUBECONFIG to a kubeconfig file, or run in a pod");
}

}  // namespace
}  // namespace mainspring::kube
