// The examples that NIST publishes for SHA-256 (FIPS 180-2, appendix B), whole and in pieces.
#include "base/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace adze {
namespace {

std::string digest(std::string_view text, size_t piece) {
  Sha256 sha;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    sha.update(std::as_bytes(std::span(text.substr(0, piece))));
  }
  return sha.hex_digest();
}

TEST(Sha256, HasThePublishedValues) {
  const std::string million(1'000'000, 'a');
  // Pieces that end before, at and after the ends of blocks.
  for (const size_t piece : {1, 3, 63, 64, 65, 1000, 1 << 20}) {
    EXPECT_EQ(digest("", piece),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(digest("abc", piece),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", piece),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(digest(million, piece),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}

}  // namespace
}  // namespace adze
