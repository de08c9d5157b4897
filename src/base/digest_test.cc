#include "base/digest.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace mainspring {
namespace {

TEST(Digest, Sha256KnowsThePublishedVectors) {
  EXPECT_EQ(hex_encode(sha256("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_encode(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_encode(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, Sha1KnowsThePublishedVectors) {
  EXPECT_EQ(hex_encode(sha1("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex_encode(sha1("")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

TEST(Digest, HmacKnowsThePublishedVectors) {
  EXPECT_EQ(hex_encode(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex_encode(hmac_sha256(std::string(131, '\xAA'),
                                   "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Digest, AnEmptyKeyAndEmptyDataAreAllowed) {
  EXPECT_EQ(hex_encode(hmac_sha256({}, {})),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
  hmac_sha256("another key", "in between");
  EXPECT_EQ(hex_encode(hmac_sha256({}, {})),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(Digest, FnvKnowsThePublishedVectors) {
  EXPECT_EQ(fnv1_32(""), 0x811c9dc5U);
  EXPECT_EQ(fnv1_32("foobar"), 0x31f0b262U);
  EXPECT_EQ(fnv1a_32(""), 0x811c9dc5U);
  EXPECT_EQ(fnv1a_32("foobar"), 0xbf9cf968U);
  EXPECT_EQ(fnv1a_64(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a_64("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(fnv1a_32("\xFF"), fnv1a_32(std::string(1, static_cast<char>(255))));
}

TEST(Digest, SafeEncodeUsesTheLettersOfKubernetes) {
  // The digits, which is all that hashes use, start at 48 % 27 = 21.
  EXPECT_EQ(safe_encode_string("0123456789"), "456789bcdf");
  EXPECT_EQ(safe_encode_string("b"), "w");
  EXPECT_EQ(safe_encode_string(std::string("\x00\x1A\xFF", 3)), "b9q");
  EXPECT_EQ(safe_encode_string(""), "");
}

TEST(Digest, ConstantTimeComparisonIsComparison) {
  EXPECT_TRUE(rc::check([](const std::string& a, const std::string& b) {
    RC_ASSERT(equal_in_constant_time(a, b) == (a == b));
    RC_ASSERT(equal_in_constant_time(a, std::string(a)));
  }));
}

}  // namespace
}  // namespace mainspring
