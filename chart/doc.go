// Package chart draws durations and what they are made of, as text for a terminal and as SVG and PNG: histograms, time
// series, stacked bars, message flows and callback scheduling.
//
// A Figure has Panels. What is drawn is added to a panel value by value, and is bounded: a panel keeps what a picture
// can show, and the extremes, however much is added. A MessageFlow and a CallbackScheduling cannot be thinned out; they
// refuse what is too much.
//
// Times are Unix nanoseconds, values are in the unit that a panel names. Names are drawn as they are given: who draws
// the names of other people's programs makes them printable before.
package chart
