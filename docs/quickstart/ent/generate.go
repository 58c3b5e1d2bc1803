// Package ent is the application's own client, generated from ./schema. The
// feature sql/execquery lets taskkit submit through its transactions.
package ent

//go:generate go run ./internal/generate
