#include "net/certs_testing.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdlib>
#include <utility>

namespace mainspring::net {
namespace {

void require(bool done) {
  if (!done) std::abort();
}

template <auto release>
struct Release {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};
using X509Ptr = std::unique_ptr<X509, Release<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Release<EVP_PKEY_free>>;
using BioPtr = std::unique_ptr<BIO, Release<BIO_free>>;

KeyPtr new_key() {
  KeyPtr key(EVP_EC_gen("P-256"));
  require(key != nullptr);
  return key;
}

std::string text_in(BIO* bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

std::string pem_of(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_X509(bio.get(), certificate) == 1);
  return text_in(bio.get());
}

std::string pem_of(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return text_in(bio.get());
}

void add_name(X509_NAME* name, int nid, const std::string& value) {
  require(X509_NAME_add_entry_by_NID(name, nid, MBSTRING_UTF8,
                                     reinterpret_cast<const unsigned char*>(value.data()),
                                     static_cast<int>(value.size()), -1, 0) == 1);
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

std::time_t time_of(WallTime time) {
  return std::chrono::floor<seconds>(time).time_since_epoch().count();
}

X509Ptr blank(const TestCertOptions& options, EVP_PKEY* key) {
  X509Ptr certificate(X509_new());
  std::uint32_t serial = 0;
  require(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) == 1);
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial);
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), time_of(options.not_before));
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), time_of(options.not_after));
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  for (const std::string& organization : options.organizations) {
    add_name(subject, NID_organizationName, organization);
  }
  add_name(subject, NID_commonName, options.common_name);
  require(X509_set_pubkey(certificate.get(), key) == 1);
  return certificate;
}

}  // namespace

struct TestCa::Impl {
  KeyPtr key;
  X509Ptr certificate;
};

TestCa::TestCa(std::string name) : impl_(std::make_unique<Impl>()) {
  TestCertOptions options;
  options.common_name = std::move(name);
  impl_->key = new_key();
  impl_->certificate = blank(options, impl_->key.get());
  X509* certificate = impl_->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(certificate, certificate, NID_subject_key_identifier, "hash");
  require(X509_sign(certificate, impl_->key.get(), EVP_sha256()) > 0);
  cert_pem_ = pem_of(certificate);
}

TestCa::~TestCa() = default;
TestCa::TestCa(TestCa&&) noexcept = default;
TestCa& TestCa::operator=(TestCa&&) noexcept = default;

TestCert TestCa::issue(const TestCertOptions& options) const {
  const KeyPtr key = new_key();
  const X509Ptr certificate = blank(options, key.get());
  X509* issuer = impl_->certificate.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer));
  add_extension(certificate.get(), issuer, NID_key_usage, "critical,digitalSignature");
  add_extension(certificate.get(), issuer, NID_ext_key_usage, "serverAuth,clientAuth");
  std::string names;
  for (const std::string& name : options.dns_names) names += ",DNS:" + name;
  for (const std::string& address : options.ip_addresses) names += ",IP:" + address;
  if (!names.empty()) {
    add_extension(certificate.get(), issuer, NID_subject_alt_name, names.substr(1));
  }
  require(X509_sign(certificate.get(), impl_->key.get(), EVP_sha256()) > 0);
  return {pem_of(certificate.get()), pem_of(key.get())};
}

TestCert TestCa::issue_local() const {
  TestCertOptions options;
  options.common_name = "localhost";
  options.dns_names = {"localhost"};
  options.ip_addresses = {"127.0.0.1", "::1"};
  return issue(options);
}

}  // namespace mainspring::net
