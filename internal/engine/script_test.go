package engine_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

var update = flag.Bool("update", false, "write the output of the scripts in testdata")

// A script is a text of blocks, each a command, a line of four dashes, and what
// the command causes. Comments stand before a block. The commands are those of
// [scriptEnv.do].
//
// TestScripts runs each script in testdata in a bubble of its own, whose clock
// moves only with the commands: by [settleTime] after each, and by what "wait"
// says. With -update it writes the output into the scripts.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			synctest.Test(t, func(t *testing.T) {
				e := newScriptEnv(t)
				defer e.stopAll()
				got = runScript(t, e, string(text))
			})
			switch {
			case got == string(text):
			case *update:
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // a source file
					t.Fatal(err)
				}
			default:
				t.Errorf("the output of %s differs; check it and run the test with -update. It is now:\n%s", file, got)
			}
		})
	}
}

// runScript runs the commands of a script and returns it with their output.
func runScript(t *testing.T, e *scriptEnv, text string) string {
	t.Helper()
	var out strings.Builder
	output := false // of the old text: it is replaced
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case output && line != "":
		case line == "":
			output = false
			out.WriteString("\n")
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		case line == "----":
			output = true
		default:
			result, err := e.do(strings.Fields(line))
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
			out.WriteString(line + "\n----\n" + result)
		}
	}
	return out.String()
}
