// Package emit turns executors into the text of Go files, JSON Schemas and tests.
// It touches no file.
package emit
