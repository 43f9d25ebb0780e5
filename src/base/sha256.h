// SHA-256, which identifies published files.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace bdnn {

class Sha256 {
 public:
  Sha256();
  void add(std::span<const std::byte> bytes);
  std::string hexadecimal() const;  // of all that was added: 64 digits in lower case

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  using Context = std::unique_ptr<evp_md_ctx_st, Free>;
  static Context new_context();

  Context context_;
};

}  // namespace bdnn
