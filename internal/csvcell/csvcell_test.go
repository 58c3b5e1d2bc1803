package csvcell_test

import (
	"testing"

	"taskkit.dev/internal/csvcell"
)

// A cell is no formula, and reads back as the text that it was.
func TestCells(t *testing.T) {
	t.Parallel()
	for text, cell := range map[string]string{
		"":                               "",
		"a-b":                            "a-b",
		"'s-Hertogenbosch":               "'s-Hertogenbosch",
		"=1+2":                           "'=1+2",
		"+49":                            "'+49",
		"-5":                             "'-5",
		"@x":                             "'@x",
		"\t=1":                           "'\t=1",
		"\r":                             "'\r",
		"\n=1":                           "'\n=1",
		`" =1`:                           `'" =1`,
		`"=1"`:                           `'"=1"`,
		"'=1":                            "''=1",
		"''=1":                           "'''=1",
		"＝1":                             "'＝1",
		"=HYPERLINK(\"https://x\",\"\")": "'=HYPERLINK(\"https://x\",\"\")",
	} {
		if got := csvcell.Write(text); got != cell {
			t.Errorf("Write(%q) = %q, want %q", text, got, cell)
		}
		if got := csvcell.Read(cell); got != text {
			t.Errorf("Read(%q) = %q, want %q", cell, got, text)
		}
	}
}
