// Package ent is taskkit's client to its own tables, generated from
// ent/schema. Only internal/store may import it.
package ent

//go:generate go run ./internal/generate
