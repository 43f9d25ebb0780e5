#pragma once

namespace bdnn {

extern const char* const kReportStyle;   // CSS
extern const char* const kReportScript;  // JavaScript: points under the pointer, and curves switched off
}  // namespace bdnn
