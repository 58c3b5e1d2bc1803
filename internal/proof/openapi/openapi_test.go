package openapi_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// The document that package taskhttp compares with its server's is valid by a second
// validator, which resolves its references and compiles its patterns.
func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	loader := openapi3.NewLoader()
	document, err := loader.LoadFromFile("../../../taskkit/taskhttp/testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if n := document.Paths.Len(); n < 12 {
		t.Errorf("%d paths are read, want 12", n)
	}
}
