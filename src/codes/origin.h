// The origin of codes, as stored in files and in words.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "bdnn/codes.h"

namespace bdnn {

// {"model": ..., "method": ...} and, if codes are refined, "refined": {"local_search": rounds}.
std::map<std::string, Json> json_members(const CodesOrigin& origin);
// Missing members, and those of the wrong type, are left empty.
CodesOrigin origin_from(const JsonValue& json);

// "of the hash function", "refined, 8 rounds of local search", or "unknown" if no model is named.
std::string kind_of_codes(const CodesOrigin& origin);

// Whether codes may be in one index: codes of two models, or refined codes and those of the hash function, may not.
// Codes without a model mix with any.
bool may_be_mixed(const CodesOrigin& a, const CodesOrigin& b);

}  // namespace bdnn
