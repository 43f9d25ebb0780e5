#include "coding/codes_match.h"

#include "base/error.h"
#include "bdnn/encode.h"
#include "codes/origin.h"

namespace bdnn {

void check_codes_match(std::size_t model_bits, const std::string& fingerprint, std::size_t bits,
                       const CodesOrigin& origin) {
  if (bits != model_bits) misuse("the codes have {} bits, the model's have {}", bits, model_bits);
  if (!origin.model.empty() && origin.model != fingerprint) {
    misuse("the codes were made by the model {}, not by this one ({})", origin.model, fingerprint);
  }
}

void check_codes_match(const Model& model, std::size_t bits, const CodesOrigin& origin) {
  check_codes_match(model.bits(), origin.model.empty() ? "" : fingerprint(model), bits, origin);
}

void check_codes_match(const Model& model, const Codes& codes) {
  check_codes_match(model, codes.bits(), codes.origin());
}

void check_queries_match(std::size_t bits, const CodesOrigin& origin, const Codes& queries) {
  if (bits != queries.bits()) {
    misuse("the queries have {} bits, the database has {}; encode both with the same model", queries.bits(), bits);
  }
  const std::string& a = origin.model;
  const std::string& b = queries.origin().model;
  if (!a.empty() && !b.empty() && a != b) {
    misuse("the database was encoded by model {}, the queries by {}; encode both with the same model", a, b);
  }
}

void check_can_be_added(std::size_t bits, const CodesOrigin& origin, const Codes& added) {
  if (added.bits() != bits) {
    misuse("holds codes of {} bits, those to be added have {}; encode them with the same model", bits, added.bits());
  }
  if (!may_be_mixed(added.origin(), origin)) {
    misuse("holds codes of model {} ({}), those to be added are of {} ({}); encode them alike", origin.model,
           kind_of_codes(origin), added.origin().model, kind_of_codes(added.origin()));
  }
}

}  // namespace bdnn
