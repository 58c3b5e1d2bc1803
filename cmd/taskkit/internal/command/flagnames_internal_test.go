package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// Errors name the flags that a person has given, and not what the library calls them.
func TestSentenceNamesFlags(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"--by: taskkit approve needs it: name the person who approves":    &taskkit.OptionError{Option: "WithActor", Problem: "Approve needs it: name the person who approves"},
		"--stop-after: only these take it; taskkit set changes the limit": fmt.Errorf("x: %w", &taskkit.OptionError{Option: "WithStopAfter", Problem: "only these take it; Client.Change changes the limit"}),
		"--batch: it must be positive, such as 1000":                      &taskkit.OptionError{Option: "limit", Problem: "it must be positive, such as 1000"},
		"--code: contains a NUL byte":                                     &taskkit.OptionError{Option: "Filter.Code", Problem: "contains a NUL byte"},
		"--cron of schedule \"a\" refused, nothing was stored: never":     &taskops.ScheduleError{Schedule: "a", Field: "Cron", Problem: "never"},
		"WithActor is in the text of an executor":                         errors.New("WithActor is in the text of an executor"),
	} {
		if got := strings.TrimPrefix(sentence(err), "x: "); strings.TrimPrefix(got, "taskkit: ") != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
}

// Errors about flags do not name the Go functions that parse them.
func TestFlagProblem(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		`invalid argument "x" for "-n, --number" flag: strconv.ParseInt: parsing "x": invalid syntax`:         `invalid argument "x" for "-n, --number" flag: want a whole number`,
		`invalid argument "9e9" for "--max-rate" flag: strconv.ParseFloat: parsing "9e9": value out of range`: `invalid argument "9e9" for "--max-rate" flag: the number is too large`,
		`invalid argument "y" for "--yes" flag: strconv.ParseBool: parsing "y": invalid syntax`:               `invalid argument "y" for "--yes" flag: want true or false`,
		`invalid argument "5" for "--timeout" flag: time: missing unit in duration "5"`:                       `invalid argument "5" for "--timeout" flag: want a duration such as 90s or 2h`,
		`invalid argument "5 x" for "--timeout" flag: time: unknown unit " x" in duration "5 x"`:              `invalid argument "5 x" for "--timeout" flag: want a duration such as 90s or 2h`,
		`invalid argument "mail" for "--limit" flag: mail must be formatted as key=value`:                     `invalid argument "mail" for "--limit" flag: want key=number, such as mail=2`,
		`unknown shorthand flag: '1' in -1`: `-1 looks like a flag, and no argument is negative`,
		"unknown flag: --frob":              "unknown flag: --frob",
	} {
		if got := flagProblem(errors.New(said)); got != want {
			t.Errorf("%s\n got %s\nwant %s", said, got, want)
		}
	}
}

// Every flag of the tables exists, and every option of the library that the command sets is in them.
func TestFlagNames(t *testing.T) {
	t.Parallel()
	flags := make(map[string]bool)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		add := func(f *pflag.Flag) { flags["--"+f.Name] = true }
		c.Flags().VisitAll(add)
		c.PersistentFlags().VisitAll(add)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(New(Config{}).Root())
	kind := new(cobra.Command) // as if there were one
	new(runFlags).add(kind)
	walk(kind)
	for _, names := range []map[string]string{flagNames, argumentNames, scheduleNames} {
		for name, flag := range names {
			if strings.HasPrefix(flag, "--") && !flags[flag] {
				t.Errorf("%s is %s, which no command has", name, flag)
			}
		}
	}
	for name, flag := range flagNames {
		if got := sentence(&taskkit.OptionError{Option: name, Problem: "no"}); !strings.HasSuffix(got, flag+": no") {
			t.Errorf("an error about %s says %q, want %s", name, got, flag)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source here: %v", err)
	}
	option := regexp.MustCompile(`taskkit\.(With[A-Z]\w*|OwnedBy|RunAs)\(`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range option.FindAllStringSubmatch(string(text), -1) {
			// The demonstration of intake has no flags for these.
			if name := found[1]; flagNames[name] == "" && file != "intake.go" {
				t.Errorf("%s sets the option %s: say in flagNames which flag that is", file, name)
			}
		}
	}
}
