// Package openapi checks the OpenAPI document of package taskhttp with a validator that the
// library does not need, and the server with requests that are drawn from the document.
//
// Everyday runs send a few hundred requests to each database. More are sent with
//
//	TASKKIT_OPENAPI_REQUESTS=100000 go run ./internal/cmd/withdb go test -C internal/proof -timeout 1h ./openapi
package openapi
