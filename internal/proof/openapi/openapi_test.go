package openapi_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// The documents of the server of package taskhttp, of the quickstart and of the demonstration, which their tests
// compare with what is sent, are valid by a second validator, which resolves their references and compiles
// their patterns.
func TestDocumentsAreValid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file  string
		paths int
	}{
		{"taskkit/taskhttp/testdata/openapi.json", 41}, {"docs/testdata/openapi.json", 19}, {"cmd/taskkit/testdata/openapi.json", 23},
	} {
		document, err := openapi3.NewLoader().LoadFromFile("../../../" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		if err := document.Validate(t.Context()); err != nil {
			t.Errorf("%s: %v", c.file, err)
		}
		if n := document.Paths.Len(); n < c.paths {
			t.Errorf("%s: %d paths are read, want %d", c.file, n, c.paths)
		}
	}
}
