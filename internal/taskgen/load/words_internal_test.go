package load

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The guide of executors and the documentation of the command list the options of the directive, and no others.
func TestOptionsAreListed(t *testing.T) {
	t.Parallel()
	var want []string
	for _, word := range words {
		key, _, _ := strings.Cut(word, "=")
		want = append(want, key)
	}
	slices.Sort(want)
	for file, list := range map[string]struct{ begin, end, line string }{
		"../../../docs/writing-executors.md": {"### The directive\n", "\n### ", "(?m)^\\| `([a-z]+)"},
		"../../../cmd/taskgen/main.go":       {"// Go. After it there may be:\n", "#the-directive", `(?m)^//\t([a-z]+)`},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, section, _ := strings.Cut(string(text), list.begin)
		section, _, _ = strings.Cut(section, list.end)
		var got []string
		for _, m := range regexp.MustCompile(list.line).FindAllStringSubmatch(section, -1) {
			got = append(got, m[1])
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s lists the options %q, want %q", file, got, want)
		}
	}
}
