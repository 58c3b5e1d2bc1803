// Package fuzz holds tests only: values that databases, encoders and people
// disagree on, through every door of the public API, on both databases at once.
//
// For each the two answer alike: a typed refusal before anything is stored, or an
// exact round trip. What records something that went wrong is never refused: its
// text is made storable. No answer is the text of a database's error.
package fuzz
