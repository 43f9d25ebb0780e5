// Where codes come from, as files keep it and as people read it.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "bdnn/codes.h"

namespace bdnn {

// {"model": ..., "method": ...} and, where codes are refined, "refined": {"local_search": rounds}.
std::map<std::string, Json> json_members(const CodesOrigin& origin);
// What is missing, or is something else than it should be, is left empty.
CodesOrigin origin_from(const JsonValue& json);

// "of the hash function", "refined, 8 rounds of local search", or "unknown" where no model is named.
std::string kind_of_codes(const CodesOrigin& origin);

// Codes of two models, or refined ones and those of the hash function, must not stand side by side. Nothing is known of
// codes without a model.
bool may_be_mixed(const CodesOrigin& a, const CodesOrigin& b);

}  // namespace bdnn
