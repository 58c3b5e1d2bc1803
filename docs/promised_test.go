package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// parameters is how many parameters a statement may have.
var parameters = map[string]int{"PostgreSQL": 65535, "SQLite": 32766}

// What an executor must mind is in its guide: how many items a statement takes, and the order in which it locks rows.
func TestGuideOfExecutors(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("writing-executors.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(raw)), " ")
	for database, most := range parameters {
		for _, n := range []int{most, most / 8} {
			if figure := fmt.Sprintf("%d,%03d on %s", n/1000, n%1000, database); !strings.Contains(text, figure) {
				t.Errorf("the guide does not say %q", figure)
			}
		}
	}
	if want := fmt.Sprintf("`max=%d`", parameters["SQLite"]/8); !strings.Contains(text, want) {
		t.Errorf("the guide does not say %s", want)
	}
	do, _, found := strings.Cut(text, " Don't ")
	if _, do, _ = strings.Cut(do, " Do - "); !found || !strings.Contains(do, "sort the ids of a batch before you UPDATE") {
		t.Error("the list of what to do does not say to sort ids before an UPDATE")
	}
}

// Each value of Ending says what it means.
func TestEndingsAreDocumented(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../taskkit/batch.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	endings := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Ending" {
			endings++
			if spec.Doc == nil && spec.Comment == nil {
				t.Errorf("%s has no comment", spec.Names[0].Name)
			}
		}
		return true
	})
	if endings != 5 {
		t.Errorf("%d values of Ending are found, want 5", endings)
	}
}
