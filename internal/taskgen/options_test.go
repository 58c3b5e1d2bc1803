package taskgen

import (
	"strings"
	"testing"
)

// TestNamesOfPackages: a name that Go does not take for a package, or whose file it
// leaves out, is refused before anything is read.
func TestNamesOfPackages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{Package: "func"}, `"func" cannot be the name of a package: it is a keyword`},
		{Options{Package: "main"}, `no package of that name can be imported`},
		{Options{Package: "bulk_test"}, `Go takes a file of that name for a test`},
		{Options{Package: "bulk_windows"}, `one of another platform`},
		{Options{Out: "gen_arm64"}, `another directory with -o`},
		{Options{Suffix: "_test"}, `suffix "_test" cannot end the name of a package`},
		{Options{Suffix: "task_linux"}, `one of another platform`},
	} {
		_, err := Generate(t.Context(), c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.options, err, c.want)
		}
	}
}
