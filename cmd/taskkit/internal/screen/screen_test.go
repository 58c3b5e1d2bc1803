package screen_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"taskkit.dev/cmd/taskkit/internal/screen"
)

// Escaped JSON has no character that a terminal interprets, and decodes to the same value.
func TestJSON(t *testing.T) {
	t.Parallel()
	want := "a\n\x7f\u0085\u009b\u202e\u2066\ufeff\U000e0041 é 👩\u200d💻"
	var b bytes.Buffer
	if err := screen.JSON(&b, want); err != nil {
		t.Fatal(err)
	}
	if b.String() != "\"a\\n\\u007f\\u0085\\u009b\\u202e\\u2066\\ufeff\\udb40\\udc41 é 👩\u200d💻\"\n" {
		t.Errorf("written as %s", b.String())
	}
	var got string
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || got != want {
		t.Errorf("read as %q, %v", got, err)
	}
}

// A text of one line has no line break, and the further lines of a longer one are indented.
func TestClean(t *testing.T) {
	t.Parallel()
	const text = " a\tb\r\nc\rd\u202e\u2028\x1b[1m\u200c\n"
	if got := screen.Clean(text); got != " a b  c d\ufffd\ufffd\ufffd[1m\u200c " {
		t.Errorf("one line: %q", got)
	}
	if got := screen.Text(text); got != "a b\n    c d\ufffd\ufffd\ufffd[1m\u200c" {
		t.Errorf("several lines: %q", got)
	}
}
