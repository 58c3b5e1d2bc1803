package taskkit

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"taskkit.dev/internal/workflow"
)

// filterMost bounds the lists of a filter: the databases differ in how many
// parameters a statement may have.
const filterMost = 10_000

// check refuses what one database would refuse, in words of its own, and the
// other would not find.
func (f *Filter) check() error {
	for _, l := range []struct {
		name string
		n    int
	}{{"IDs", len(f.IDs)}, {"Kinds", len(f.Kinds)}, {"Statuses", len(f.Statuses)}} {
		if l.n > filterMost {
			return &OptionError{"Filter." + l.name, fmt.Sprintf("%d values, more than %d: ask in parts", l.n, filterMost)}
		}
	}
	for _, s := range f.Statuses {
		if !workflow.Status(s).Valid() {
			return &OptionError{"Filter.Statuses", fmt.Sprintf("%q is no status", string(s))}
		}
	}
	for _, k := range f.Kinds {
		if err := checkFilterText("Kinds", k); err != nil {
			return err
		}
	}
	for _, t := range [][2]string{{"Queue", f.Queue}, {"Reference", f.Reference}, {"UniqueKey", f.UniqueKey}} {
		if err := checkFilterText(t[0], t[1]); err != nil {
			return err
		}
	}
	return nil
}

func checkFilterText(field, v string) error {
	if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
		return &OptionError{"Filter." + field, "holds a NUL or is not valid UTF-8: no task has such a one"}
	}
	return nil
}
