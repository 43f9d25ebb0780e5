// The catalog of an index file as JSON.
#pragma once

#include <string>

#include "search/index_format.h"

namespace bdnn {

std::string to_text(const Catalog& catalog);

// A catalog that a program wrote; a hostile one may still lie about what stands where, which map_content() finds out.
Catalog parse_catalog(const std::string& text, const std::string& path);

}  // namespace bdnn
