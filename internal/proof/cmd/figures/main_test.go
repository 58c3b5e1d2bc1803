package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskkit.dev/internal/proof/prove"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const markers = "<!-- figures: begin -->\nof yesterday\n<!-- figures: end -->\nmore\n<!-- mutants: begin -->\n<!-- mutants: end -->\n"
	t.Setenv(prove.OutEnv, dir)
	prove.Record(t, "simulation", map[string]any{"seeds": 123456, "violations": 0})
	prove.Record(t, "mutants", map[string]any{"killed": 1, "mutants": []any{map[string]any{"patch": "03-no-fence-sqlite.patch", "seconds": 1.25}}})

	write(markers)
	if err := run(dir, page, true); err == nil {
		t.Error("a stale page passes")
	}
	if err := run(dir, page, false); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, page, true); err != nil {
		t.Errorf("a page just written: %v", err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| seeds 123,456 | 0 |", "not run yet", "\nmore\n", "03-no-fence-sqlite.patch) | `TestConformance/sqlite/BatchLost`", "| 1.2 s |"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "of yesterday") {
		t.Error("the text between the markers was not replaced")
	}
	for _, bad := range []string{"", "<!-- figures: begin -->\n", strings.ReplaceAll(markers, "mutants: end", "mutants: and")} {
		write(bad)
		if err := run(dir, page, false); err == nil {
			t.Errorf("a page without markers passes: %q", bad)
		}
	}
}
