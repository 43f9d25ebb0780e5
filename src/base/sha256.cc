#include "base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/error.h"

namespace bdnn {
namespace {

void check(int succeeded) {
  if (succeeded != 1) failure("OpenSSL cannot compute SHA-256 here; is it restricted to other digests?");
}

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Context Sha256::new_context() {
  Context context(EVP_MD_CTX_new());
  check(context ? 1 : 0);
  return context;
}

Sha256::Sha256() : context_(new_context()) { check(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr)); }

void Sha256::add(std::span<const std::byte> bytes) {
  check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

std::string Sha256::hexadecimal() const {
  const Context end = new_context();  // a copy, so that more can be added afterwards
  check(EVP_MD_CTX_copy_ex(end.get(), context_.get()));
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(EVP_DigestFinal_ex(end.get(), digest, &size));
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace bdnn
