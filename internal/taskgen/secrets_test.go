package taskgen

import (
	"slices"
	"testing"

	"taskkit.dev/internal/taskgen/model"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	out, err := Generate(t.Context(), Options{Dir: "schema/testdata/shown", Patterns: []string{"."}})
	if err != nil || len(out.Executors) != 1 {
		t.Fatal(err, out)
	}
	got := out.Executors[0].Secrets()
	want := []string{"/spec/login/keys/*/values", "/spec/login/password", "/state/rows/*/*/values"}
	if !slices.Equal(got, want) {
		t.Errorf("secrets %q, want %q", got, want)
	}
}

// TestDocsDoNotDependOnPatterns: a type's comments are found whether its package
// was named, and loaded with its syntax, or not.
func TestDocsDoNotDependOnPatterns(t *testing.T) {
	t.Parallel()
	var first *model.Type
	for _, patterns := range [][]string{{"."}, {"./..."}, {"./part", "."}} {
		out, err := Generate(t.Context(), Options{Dir: "schema/testdata/shown", Patterns: patterns})
		if err != nil || len(out.Executors) != 1 {
			t.Fatal(err, out)
		}
		spec := out.Executors[0].Spec
		part := spec.Fields[len(spec.Fields)-1].Type
		if first == nil {
			first = part
		}
		if part.Doc != "Part is declared in a group, in another package." || part.Doc != first.Doc {
			t.Errorf("%v: Part says %q", patterns, part.Doc)
		}
		for i, want := range []string{
			"Size is documented above; the comment behind is another.", "Month is documented behind.", "Level is an enum.",
		} {
			if got := part.Fields[i].Doc; got != want {
				t.Errorf("%v: %s says %q, want %q", patterns, part.Fields[i].Go, got, want)
			}
		}
		if doc := part.Fields[1].Type.Doc; doc != "" {
			t.Errorf("a type of the standard library says %q", doc)
		}
	}
}
