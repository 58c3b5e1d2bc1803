package command

import (
	"fmt"
	"regexp"
)

// flagNames are the flags and arguments of the command by the names that the library has for what they set. Errors of the
// library name the latter.
var flagNames = map[string]string{
	"WithActor":            "--by",
	"WithUniqueKey":        "--unique-key",
	"WithWindow":           "--window",
	"WithTimeLimit":        "--time-limit",
	"WithLimit":            "--limit",
	"WithReason":           "--reason",
	"WithStopAfter":        "--stop-after",
	"WithSkip":             "--skip",
	"WithPreview":          "--preview",
	"WithNotBefore":        "--at",
	"WithIdempotencyKey":   "--key",
	"WithPriority":         "--priority",
	"WithQueue":            "--queue",
	"WithSchema":           "--schema",
	"Schema":               "--schema",
	"OwnedBy":              "--owner",
	"RunAs":                "--run-as",
	"Settings.StopAfter":   "--stop-after",
	"Settings.MaxParallel": "--max-parallel",
	"Settings.MaxRate":     "--max-rate",
	"MaxParallel":          "--max-parallel",
	"Client.Change":        "taskkit set",
	"Client.Children":      "taskkit show",
	"WriteBuckets":         "taskkit buckets",
	"Approve":              "taskkit approve",
	"Filter.Kinds":         "--kind",
	"Filter.Statuses":      "--status",
	"Filter.Queue":         "--queue",
	"Filter.Code":          "--code",
	"Filter.EndedFor":      "--older-than",
	"Filter.Reference":     "--reference",
	"Filter.UniqueKey":     "--unique-key",
	"ItemBounds.Records":   "--limit",
	"Failures.Tasks":       "TASK",
	"Failures.Kind":        "--kind",
	"Failures.From":        "--since",
	"Failures.To":          "--until",
	"Failures.Codes":       "--code",
	"Failures.Items":       "--item",
	"SetLimit":             "taskkit limits set",
	"Options.Schema":       "--schema",
	"Options.Due":          "--due",
	"Options.Approval":     "--approval",
	"Options.Transaction":  "--transaction",
	"olderThan":            "--older-than",
}

// argumentNames are more of them, which are names only at the beginning of an error: they are words, too.
var argumentNames = map[string]string{
	"name":      "NAME",
	"limit":     "--batch",
	"corrected": "--corrected",
}

// scheduleNames are the flags by the field of a [taskops.ScheduleError].
var scheduleNames = map[string]string{
	"Name": "NAME", "Kind": "--kind", "Spec": "--spec", "Cron": "--cron", "Zone": "--zone", "Misfire": "--misfire",
}

var (
	optionName   = regexp.MustCompile(`\b(?:(?:Settings|Filter|Failures|ItemBounds|Client|Options)\.)?[A-Za-z]+\b`)
	argumentName = regexp.MustCompile(`^[a-z]+: `)
)

// withFlags returns the text of an error of the library with the names of flags.
func withFlags(text string) string {
	if name := argumentName.FindString(text); name != "" {
		if flag, ok := argumentNames[name[:len(name)-2]]; ok {
			text = flag + text[len(name)-2:]
		}
	}
	return optionName.ReplaceAllStringFunc(text, func(name string) string {
		if flag, ok := flagNames[name]; ok {
			return flag
		}
		return name
	})
}

var (
	// negative matches the error about an argument that begins like a flag.
	negative = regexp.MustCompile(`^unknown shorthand flag: '\d' in (-\d\S*)$`)
	// parsed matches what packages strconv and time say about a value, and pair what pflag says about one of --limit.
	parsed   = regexp.MustCompile(`strconv\.(\w+): parsing "[^"]*": (invalid syntax|value out of range)`)
	duration = regexp.MustCompile(`time: (?:invalid duration|missing unit in duration|unknown unit .* in duration) .*$`)
	pair     = regexp.MustCompile(`(\S*) must be formatted as key=value$`)
)

// flagProblem returns the text of an error about flags without the words of the packages that parse them.
func flagProblem(err error) string {
	text := err.Error()
	if m := negative.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s looks like a flag, and no argument is negative", m[1])
	}
	text = parsed.ReplaceAllStringFunc(text, func(s string) string {
		m := parsed.FindStringSubmatch(s)
		want := map[string]string{"ParseBool": "true or false", "ParseFloat": "a number"}[m[1]]
		switch {
		case m[2] != "invalid syntax":
			return "the number is too large"
		case want == "":
			want = "a whole number"
		}
		return "want " + want
	})
	text = duration.ReplaceAllString(text, "want a duration such as 90s or 2h")
	return pair.ReplaceAllString(text, "want key=number, such as mail=2")
}
