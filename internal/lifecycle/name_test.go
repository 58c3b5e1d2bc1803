package lifecycle_test

import (
	"strings"
	"testing"

	"taskkit.dev/internal/lifecycle"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ kind, queue bool }{
		"send_email":            {true, true},
		"a":                     {true, true},
		"tenant-7.eu":           {false, true},
		"7":                     {false, true},
		"":                      {false, false},
		"_a":                    {false, false},
		"-a":                    {false, false},
		"Mail":                  {false, false},
		"a b":                   {false, false},
		"a\n":                   {false, false},
		"é":                     {false, false},
		strings.Repeat("x", 63): {true, true},
		strings.Repeat("x", 64): {false, false},
	} {
		if got := lifecycle.ValidKind(name); got != want.kind {
			t.Errorf("kind %q: valid is %t, want %t", name, got, want.kind)
		}
		if got := lifecycle.ValidQueue(name); got != want.queue {
			t.Errorf("queue %q: valid is %t, want %t", name, got, want.queue)
		}
	}
}

func TestTableNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64)
	for name, want := range map[string]bool{
		"people": true, "app.people": true, "App.Person$2": true, "_p": true, long[1:] + "." + long[1:]: true,
		"": false, ".": false, "app.": false, ".people": false, "a.b.c": false, "7up": false, "$a": false,
		"a b": false, `"people"`: false, "people\n": false, "é": false, long: false, long + ".p": false,
	} {
		if got := lifecycle.ValidTable(name); got != want {
			t.Errorf("table %q: valid is %t, want %t", name, got, want)
		}
	}
}
