#include "daemon/api/tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace outlierd::api {
namespace {

class TokensTest : public testing::Test {
 protected:
  TokensTest() {
    char name[] = "/tmp/outlierd_tokens_XXXXXX";
    folder_ = mkdtemp(name);
    file_ = folder_ / "tokens";
  }
  ~TokensTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(file_) << text;
    chmod(file_.c_str(), mode);
  }
  tl::expected<Tokens, std::string> load(bool needed_on_loopback = false) const {
    return Tokens::load({file_.string(), needed_on_loopback, false});
  }
  std::string problem(const std::string& text, mode_t mode = 0600) const {
    write(text, mode);
    const auto loaded = load();
    return loaded ? "" : loaded.error().substr(file_.string().size());
  }

  std::filesystem::path folder_, file_;
};

constexpr char kReader[] = "reader-0123456789abc";

TEST_F(TokensTest, KnowsEachTokenAndWhatItMayDo) {
  // echo -n hashed-0123456789abc | sha256sum
  write(std::string("# who may do what\n\nread ") + kReader +
        " grafana\n"
        "ingest,operate  operator-0123456789\r\n"
        "admin sha256:64bf9837b0ab3fd7b2a0d8f8ad8fb0d0b0ba1d6a2e7f6a0a4f8df1b9c0a6c5d1 root\n");
  const auto tokens = load();
  ASSERT_TRUE(tokens) << tokens.error();
  const auto reader = tokens->identify(kReader, false);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->name, "grafana");
  EXPECT_TRUE(reader->may(Role::kRead));
  EXPECT_FALSE(reader->may(Role::kIngest) || reader->may(Role::kOperate) ||
               reader->may(Role::kAdmin));
  const auto both = tokens->identify("operator-0123456789", false);
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->may(Role::kIngest) && both->may(Role::kOperate) && both->may(Role::kRead));
  EXPECT_FALSE(both->may(Role::kAdmin));
  EXPECT_FALSE(tokens->identify("reader-0123456789abd", false));
  EXPECT_FALSE(tokens->identify("", false));
}

TEST_F(TokensTest, TakesAHashInsteadOfTheToken) {
  // The SHA-256 of "abcdefghijklmnopqrstuvwxyz", as every table of test vectors has it.
  write("admin sha256:71C480DF93D6AE2F1EFAD1447C66C9525E316218CF51FC8D9ED832F2DAF18B73\n");
  const auto tokens = load();
  ASSERT_TRUE(tokens) << tokens.error();
  const auto admin = tokens->identify("abcdefghijklmnopqrstuvwxyz", false);
  ASSERT_TRUE(admin);
  for (Role role : {Role::kRead, Role::kIngest, Role::kOperate, Role::kAdmin})
    EXPECT_TRUE(admin->may(role));
}

TEST_F(TokensTest, SaysWhatIsWrongAndWhereWithoutRepeatingTheToken) {
  EXPECT_EQ(problem("\nread short\n"), ":2: a token needs at least 16 characters");
  EXPECT_EQ(problem("raed secret-secret-secret\n"),
            ":1: the first word must be of read, ingest, operate, admin");
  EXPECT_EQ(problem("secret-secret-secret read\n"),
            ":1: the first word must be of read, ingest, operate, admin");
  EXPECT_EQ(problem("read sha256:abc\n"), ":1: sha256: needs 64 hexadecimal digits");
  EXPECT_EQ(problem("read secret-secret-secret name more\n"), ":1: more than role, token and name");
  EXPECT_EQ(problem("# nothing\n"), ": holds no token");
  EXPECT_EQ(problem("read secret-secret-secret\n", 0604),
            ": others than its owner and group may use it; chmod o= it");
}

TEST_F(TokensTest, KeepsTheOldTokensWhenTheNewFileIsBad) {
  write(std::string("read ") + kReader + "\n");
  auto tokens = load();
  ASSERT_TRUE(tokens);
  write("nonsense\n");
  EXPECT_FALSE(tokens->reload());
  EXPECT_TRUE(tokens->identify(kReader, false));
  write("read another-0123456789\n");
  EXPECT_TRUE(tokens->reload());
  EXPECT_FALSE(tokens->identify(kReader, false));
  EXPECT_TRUE(tokens->identify("another-0123456789", false));
}

TEST_F(TokensTest, LetsLoopbackInUnlessToldOtherwise) {
  write(std::string("read ") + kReader + "\n");
  const auto tokens = load(), strict = load(true);
  ASSERT_TRUE(tokens && strict);
  EXPECT_TRUE(tokens->identify("", true)->may(Role::kAdmin));
  EXPECT_FALSE(strict->identify("", true));
  EXPECT_TRUE(strict->identify(kReader, true));
  // A token that is given counts.
  EXPECT_FALSE(tokens->identify(kReader, true)->may(Role::kAdmin));
  EXPECT_FALSE(tokens->identify("unknown-0123456789", true));
}

TEST_F(TokensTest, WithoutTokensOnlyLoopbackUnlessAnonymousIsAllowed) {
  const auto closed = Tokens::load({}), open = Tokens::load({"", false, true});
  EXPECT_TRUE(closed->identify("", true));
  EXPECT_FALSE(closed->identify("", false));
  EXPECT_FALSE(closed->identify("anything-at-all-0123", false));
  EXPECT_TRUE(open->identify("", false)->may(Role::kAdmin));
}

}  // namespace
}  // namespace outlierd::api
