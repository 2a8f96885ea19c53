#pragma once
// Tokens of HLO text (text-format 1.3). A token is a kind and a source range without a copy of the text.

#include <cstdint>

#include "hlo_run/source_text.h"

namespace hlo::text {

enum class Tok : uint8_t {
  kEnd,
  kError,  // detail: 1 if it is unterminated, so that nothing after it can be lexed.
  kEqual,
  kComma,
  kColon,
  kStar,
  kQuestion,
  kHash,
  kPlus,
  kTilde,
  kLSquare,
  kRSquare,
  kLBrace,
  kRBrace,
  kLParen,
  kRParen,
  kDots,
  kArrow,
  kLessEqual,
  // Keywords.
  kTrue,
  kFalse,
  kInf,
  kHloModule,
  kEntry,
  kRoot,
  kFileNames,
  kFunctionNames,
  kFileLocations,
  kStackFrames,
  kMaximal,
  kReplicated,
  kManual,
  kLastTileDimReplicate,
  kShardAs,
  kShardLike,
  kUnknown,
  kUnreduced,
  // Words and values.
  kType,  // detail: the ElementType, kTokenType or kOpaqueType.
  kName,  // `%word` or `word:`.
  kAttr,  // `word=`.
  kIdent,
  kDimLabels,
  kDxd,
  kPad,
  kInt,
  kDecimal,
  kNegInf,
  kString,  // detail: 1 if it contains escapes.
};

inline constexpr uint8_t kTokenType = 254;
inline constexpr uint8_t kOpaqueType = 255;

struct Token {
  Tok kind = Tok::kEnd;
  uint8_t detail = 0;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool Is(Tok k) const { return kind == k; }
  bool IsId() const { return kind == Tok::kIdent || kind == Tok::kName; }
  SourceRange range() const { return {begin, end}; }
};

}  // namespace hlo::text
