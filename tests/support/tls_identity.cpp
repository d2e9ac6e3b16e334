#include "tests/support/tls_identity.h"

#include <memory>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdexcept>

namespace fireboss::test {
namespace {

constexpr long kDay = 24 * 3600;

struct Free {
  void operator()(X509* x) const { X509_free(x); }
  void operator()(EVP_PKEY* x) const { EVP_PKEY_free(x); }
  void operator()(BIO* x) const { BIO_free(x); }
};
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

void must(bool done) {
  if (!done)
    throw std::runtime_error("libcrypto refuses");
}

template <typename Write>
std::string pem(Write write) {
  const std::unique_ptr<BIO, Free> memory(BIO_new(BIO_s_mem()));
  must(write(memory.get()) == 1);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}
std::string pem(X509* certificate) {
  return pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

Certificate make(const char* name, long serial, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key,
                 const std::string& extension_name, const std::string& value, long until) {
  Certificate made(X509_new());
  must(X509_set_version(made.get(), 2) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -2 * kDay);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), until);
  must(X509_set_pubkey(made.get(), key) == 1);
  auto* subject = X509_get_subject_name(made.get());
  must(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name),
                                  -1, -1, 0) == 1);
  must(X509_set_issuer_name(made.get(), issuer == nullptr ? subject : X509_get_subject_name(issuer)) == 1);
  auto* extension = X509V3_EXT_conf(nullptr, nullptr, extension_name.c_str(), value.c_str());
  must(extension != nullptr && X509_add_ext(made.get(), extension, -1) == 1);
  X509_EXTENSION_free(extension);
  must(X509_sign(made.get(), issuer_key, EVP_sha256()) > 0);
  return made;
}

}  // namespace

TlsIdentity make_identity(const std::string& subject, bool expired) {
  const Key authority_key(EVP_EC_gen("P-256")), key(EVP_EC_gen("P-256"));
  must(authority_key && key);
  const auto authority = make("Test authority", 1, authority_key.get(), nullptr, authority_key.get(),
                              "basicConstraints", "critical,CA:TRUE", 30 * kDay);
  const auto certificate = make("Test server", 2, key.get(), authority.get(), authority_key.get(),
                                "subjectAltName", subject, expired ? -kDay : 30 * kDay);
  return {pem(authority.get()), pem(certificate.get()), pem([&](BIO* out) {
            return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace fireboss::test
