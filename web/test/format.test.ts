import assert from "node:assert/strict";
import test from "node:test";
import { count, dateTime, duration, exactDuration, percent, several, time } from "../src/format";
import { printable } from "../src/printable";

test("durations have the unit that fits, and round to the next one", () => {
  const cases: [number | null, string][] = [
    [null, "–"], [0, "0 ns"], [999, "999 ns"], [1000, "1.00 µs"], [99_994, "99.99 µs"], [99_996, "100.0 µs"], [999_949, "999.9 µs"], [999_960, "1.00 ms"],
    [12_640_123, "12.64 ms"], [-1_500_000, "-1.50 ms"], [1e12, "1,000 s"],
  ];
  for (const [ns, text] of cases) assert.equal(duration(ns), text);
});

test("numbers keep what is exact", () => {
  assert.equal(count(1234567), "1,234,567");
  assert.equal(exactDuration(12640123), "12,640,123 ns");
  assert.equal(percent(0.128), "0.13 %");
  assert.equal(several(1, "process", "processes"), "1 process");
  assert.equal(several(2000, "row"), "2,000 rows");
});

test("times have as many decimals as tell ticks apart", () => {
  assert.equal(time(40e9, 20e9), "40 s");
  assert.equal(time(1.5e9, 5e8), "1.5 s");
  assert.equal(time(1_000_000_250, 50), "1.00000025 s");
});

test("Unix time keeps its milliseconds, which a number of nanoseconds would not hold", () => {
  assert.equal(dateTime("1763000000123456789"), "2025-11-13 02:13:20.123 UTC");
});

test("names cannot steer, hide or reorder text", () => {
  const cases = [["/plain", "/plain"], ["\u001b[31m", "\\x1b[31m"], ["a\u202eb", "a\\u202eb"], ["line\nbreak\u2028", "line\\x0abreak\\u2028"], ["<script>", "<script>"], ["half \ud800", "half \\ud800"], ["😀", "😀"], ["\u200b\ufeff", "\\u200b\\ufeff"]] as const;
  for (const [name, shown] of cases) assert.equal(printable(name), shown);
});
