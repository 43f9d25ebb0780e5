#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bdnn/error.h"

// The statement raises bdnn::Error of that kind whose message contains the text.
#define EXPECT_BDNN_ERROR(statement, expected_kind, text)                        \
  try {                                                                          \
    statement;                                                                   \
    ADD_FAILURE() << "no error was raised; expected one with: " << (text);       \
  } catch (const ::bdnn::Error& error) {                                         \
    EXPECT_THAT(error.what(), ::testing::HasSubstr(text));                       \
    EXPECT_EQ(error.kind(), ::bdnn::Error::Kind::expected_kind) << error.what(); \
  }
