package tasktest

import (
	"log/slog"
	"strings"
	"testing"
)

// The log of a runtime has each warning once, and what executors log as it is.
func TestRuntimeLogger(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	l := runtimeLogger(slog.New(slog.NewTextHandler(&b, nil)))
	worker := l.With("worker", "w")
	for range 3 {
		worker.Info("worker started")
		worker.Warn("task lost", "task", 1)
		worker.Warn("task lost", "task", 2)
		l.With("worker", "w2").Warn("task lost", "task", 1)
		worker.With("task", 1).Info("executing")
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		_, message, _ := strings.Cut(strings.TrimSpace(line), "level=")
		got = append(got, message)
	}
	want := []string{
		`WARN msg="task lost" worker=w task=1`, `WARN msg="task lost" worker=w task=2`,
		"INFO msg=executing worker=w task=1", "INFO msg=executing worker=w task=1", "INFO msg=executing worker=w task=1",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
