#include "nn/progress.h"

#include <gtest/gtest.h>

#include <string>

#include "nn/summary.h"

namespace quiesce::nn {
namespace {

Logs logs(double loss, double accuracy) {
  Logs made;
  made.set("loss", loss);
  made.set("accuracy", accuracy);
  return made;
}

TEST(ProgressTest, ValuesAreWrittenAsKerasDoes) {
  EXPECT_EQ(format_value(0.71099), "0.7110");
  EXPECT_EQ(format_value(0), "0.0000e+00");
  EXPECT_EQ(format_value(0.00031415926), "3.1416e-04");
  EXPECT_EQ(format_value(-2.5), "-2.5000");
}

TEST(ProgressTest, OneLinePerEpoch) {
  const absl::Time start = absl::FromUnixSeconds(100);
  ProgressBar bar(2, /*verbose=*/2, start);
  EXPECT_EQ(bar.update(1, logs(0.711, 0.25), false, start + absl::Milliseconds(5)), "");
  Logs last = logs(0.711, 0.25);
  last.set("val_accuracy", 1);
  last.set("val_loss", 0.6823);
  EXPECT_EQ(bar.update(2, last, true, start + absl::Milliseconds(10)),
            "2/2 - 0s - 5ms/step - accuracy: 0.2500 - loss: 0.7110 - val_accuracy: 1.0000 - "
            "val_loss: 0.6823\n");
}

std::string cells(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "━";
  return text;
}

TEST(ProgressTest, ABarThatIsDrawnInPlace) {
  const absl::Time start = absl::FromUnixSeconds(100);
  ProgressBar bar(3, /*verbose=*/1, start);
  const std::string first = bar.update(1, logs(0.9, 0.5), false, start + absl::Milliseconds(6));
  EXPECT_EQ(first, "\r\x1b[1m1/3\x1b[0m \x1b[32m" + cells(6) + "\x1b[0m\x1b[37m" + cells(14) +
                       "\x1b[0m \x1b[1m0s\x1b[0m 6ms/step - accuracy: 0.5000 - loss: 0.9000");
  // Not drawn again within 50 ms.
  EXPECT_FALSE(bar.due(start + absl::Milliseconds(9)));
  EXPECT_EQ(bar.update(2, logs(0.8, 0.5), false, start + absl::Milliseconds(9)), "");
  const std::string last = bar.update(3, logs(0.7, 0.5), true, start + absl::Milliseconds(12));
  const size_t width = std::string("1/3 ").size() + 20 +
                       std::string(" 0s 6ms/step - accuracy: 0.5000 - loss: 0.9000").size();
  EXPECT_EQ(last, std::string(width, '\b') + "\r\x1b[1m3/3\x1b[0m \x1b[32m" + cells(20) +
                      "\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m 3ms/step - accuracy: 0.5000 - loss: "
                      "0.7000\n");
}

TEST(ProgressTest, SilenceAtVerboseZero) {
  ProgressBar bar(3, /*verbose=*/0, absl::UnixEpoch());
  EXPECT_FALSE(bar.due(absl::Now()));
  EXPECT_EQ(bar.update(3, logs(1, 1), true, absl::Now()), "");
}

TEST(ProgressTest, NumbersWithCommas) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(100480), "100,480");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
}

}  // namespace
}  // namespace quiesce::nn
