// Every saved input of a fuzz campaign, and damaged copies of each, through the fuzz target: it
// aborts, or a sanitizer does, if one does harm.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const std::string& text) {
  const std::vector<std::uint8_t> input(text.begin(), text.end());
  EXPECT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
}

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(OUTLIERD_CORPUS)) {
    std::ifstream in(entry.path(), std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  EXPECT_FALSE(texts.empty());
  return texts;
}

TEST(FuzzCorpus, SurvivesEveryInputOfTheCorpus) {
  for (const std::string& text : corpus()) run(text);
}

TEST(FuzzCorpus, SurvivesATextCutAnywhere) {
  for (const std::string& text : corpus())
    for (std::size_t length = 0; length < text.size(); length += 1 + length / 256)
      run(text.substr(0, length));
}

TEST(FuzzCorpus, SurvivesCharactersThatMeanSomethingAnywhere) {
  for (const std::string& text : corpus()) {
    for (std::size_t at = 0; at < text.size(); at += 1 + text.size() / 128) {
      for (char c : std::string("{}[]\"'&*!|>%@`#,:?-~\t\n \x04\xff") + '\0') {
        std::string changed = text;
        changed[at] = c;
        run(changed);
      }
    }
  }
}

}  // namespace
