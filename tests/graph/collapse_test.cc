#include "graph/collapse.h"

#include <gtest/gtest.h>

namespace adze::graph {
namespace {

std::vector<std::string> texts(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  for (const CollapsedLine& line : collapse_layers(lines)) out.push_back(line.text);
  return out;
}

using Lines = std::vector<std::string>;

TEST(CollapseLayers, LinesThatDifferInTheirLayerBecomeOne) {
  EXPECT_EQ(texts({"embedding", "layers.0.up: x", "layers.1.up: x", "layers.2.up: x", "logits"}),
            (Lines{"embedding", "layers.0–2.up: x", "logits"}));
}

TEST(CollapseLayers, OtherLayersAreCountedFromTheLinesOwn) {
  EXPECT_EQ(texts({"layers.4.norm(layers.3.residual, layers.4.w) layer=4 head_dim=4",
                   "layers.5.norm(layers.4.residual, layers.5.w) layer=5 head_dim=4"}),
            (Lines{"layers.4–5.norm(layers.i−1.residual, layers.i.w) layer=i head_dim=4"}));
}

TEST(CollapseLayers, GapsAreSeenAndNumbersOfTwoDigitsRead) {
  const auto collapsed = collapse_layers(
      {"layers.9.a", "layers.10.a", "layers.11.b", "layers.12.a", "layers.13.a", "layers.20.a"});
  ASSERT_EQ(collapsed.size(), 2u);
  EXPECT_EQ(collapsed[0].text, "layers.9–10,12–13,20.a");
  EXPECT_EQ(collapsed[0].lines, 5);
  EXPECT_EQ(collapsed[1].text, "layers.11.b");
  EXPECT_EQ(collapsed[1].lines, 1);
}

TEST(CollapseLayers, WhatDiffersOtherwiseStaysApart) {
  const Lines lines = {"layers.0.norm(embedding)", "layers.1.norm(layers.0.x)",
                       "layers.2.norm: Q8_0", "layers.x.norm", "layers."};
  EXPECT_EQ(texts(lines), lines);
}

TEST(CollapseLayers, OneLayerOrNoneIsLeftAsItIs) {
  EXPECT_EQ(texts({"sampled(layers.29.residual) layer=28", "a", "a"}),
            (Lines{"sampled(layers.29.residual) layer=28", "a"}));
  EXPECT_TRUE(texts({}).empty());
}

}  // namespace
}  // namespace adze::graph
