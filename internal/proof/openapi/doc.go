// Package openapi checks the OpenAPI document of package taskhttp with a validator that the
// library does not need.
package openapi
