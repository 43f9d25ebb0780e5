// How this project asks for Highway: with the target that has VPOPCNTDQ. Included before any Highway header.
#pragma once

#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL
#endif
