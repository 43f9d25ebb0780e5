// Checks that codes belong together, or to a model.
#pragma once

#include <cstddef>
#include <string>

#include "bdnn/codes.h"
#include "bdnn/model.h"

namespace bdnn {

// As check_codes_match() of bdnn/encode.h, with the fingerprint of the model at hand: making one reads the whole model.
void check_codes_match(std::size_t model_bits, const std::string& fingerprint, std::size_t bits,
                       const CodesOrigin& origin);
void check_codes_match(const Model& model, std::size_t bits, const CodesOrigin& origin);

// Raises Error unless queries can be compared with the codes of a database.
void check_queries_match(std::size_t bits, const CodesOrigin& origin, const Codes& queries);

// Raises Error unless codes can be put beside those that are there.
void check_can_be_added(std::size_t bits, const CodesOrigin& origin, const Codes& added);

}  // namespace bdnn
